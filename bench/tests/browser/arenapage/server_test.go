package arenapage_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/chromedp/chromedp"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"dyno/bench/tests/browser"
	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/impair"
)

var builds processtest.Builds

func TestMain(m *testing.M) {
	code := m.Run()
	builds.Remove()
	os.Exit(code)
}

// server is arenad.
type server struct {
	*arenatest.Client
	addr    string // HOST:PORT of the page
	process *process.Process
}

// start starts arenad, as put together by flags. It ends with the test.
func start(t *testing.T, flags ...string) *server {
	t.Helper()
	browser.Installed(t)
	command := []string{builds.Program(t, "dyno/services/cmd/arenad"), "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--data=" + t.TempDir(), "--lame-duck=0s", "--log-level=warn"}
	p := processtest.Start(t, append(command, flags...)...)
	addr := p.Ready()["listen"]
	return &server{&arenatest.Client{T: t, Program: arenatest.Program{URL: "http://" + addr, Debug: "http://" + p.Ready()["debug"]}}, addr, p}
}

// far puts a bad network before the server until the test ends, and returns its HOST:PORT.
func far(t *testing.T, server string, o impair.Options) string {
	t.Helper()
	addr := make(chan string, 1)
	o.To, o.Listen, o.Seed, o.Ready = server, "127.0.0.1:0", 1, func(a net.Addr) { addr <- a.String() }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- impair.Run(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the bad network ended with %v", err)
		}
	})
	return <-addr
}

// join is the address of a room for a player, by way of HOST:PORT.
func join(addr, room, name string) string {
	return fmt.Sprintf("http://%s/?%s", addr, url.Values{"room": {room}, "name": {name}}.Encode())
}

// screen is a size.
type screen struct {
	width, height int
	scheme        string
}

var desktop, phone = screen{1280, 800, "light"}, screen{390, 844, "dark"}

// player is a tab with the page.
type player struct {
	tab     context.Context
	witness *browser.Witness
}

// visit opens a page.
func visit(t *testing.T, url string, s screen) player {
	t.Helper()
	tab, w := browser.Open(t, url, int64(s.width), int64(s.height), s.scheme)
	return player{tab, w}
}

// open opens a page that joins a room, and awaits that it plays.
func open(t *testing.T, url string, s screen) player {
	t.Helper()
	p := visit(t, url, s)
	browser.Await(t, p.tab, ready)
	return p
}

// another opens a page in another tab of the same browser.
func (p player) another(t *testing.T, url string) player {
	t.Helper()
	tab, cancel := chromedp.NewContext(p.tab)
	t.Cleanup(cancel)
	if err := chromedp.Do(tab, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	browser.Await(t, tab, `document.readyState === 'complete'`)
	return player{tab, p.witness}
}

// check fails the test for errors of the page.
func (p player) check(t *testing.T, addr string, except ...string) {
	t.Helper()
	_, troubles := p.witness.Saw()
	for _, s := range troubles {
		if !slices.ContainsFunc(except, func(text string) bool { return strings.Contains(s, text) }) {
			t.Errorf("the page has an error: %s", s)
		}
	}
}
