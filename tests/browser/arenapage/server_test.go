package arenapage_test

import (
	"fmt"
	"net/url"
	"os"
	"testing"

	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/services/arena/arenatest"
	"dyno/tests/browser"
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
	command := []string{builds.Program(t, "dyno/cmd/arenad"), "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--data=" + t.TempDir(), "--lame-duck=0s", "--log-level=warn"}
	p := processtest.Start(t, append(command, flags...)...)
	addr := p.Ready()["listen"]
	return &server{&arenatest.Client{T: t, Program: arenatest.Program{URL: "http://" + addr, Debug: "http://" + p.Ready()["debug"]}}, addr, p}
}

// join is the address of a room for a player, by way of HOST:PORT.
func join(addr, room, name string) string {
	return fmt.Sprintf("http://%s/?%s", addr, url.Values{"room": {room}, "name": {name}}.Encode())
}
