package page

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for the browser to do what it will do anyway; it decides no result.
const patience = 2 * time.Minute

// chromium finds the browser, or skips the test.
func chromium(t *testing.T) (path string) {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium in PATH, so the page is not looked at; on Debian: apt-get install chromium")
	return ""
}

// browser starts a headless Chromium for the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := chromium(t)
	whole, late := context.WithTimeout(context.Background(), patience)
	t.Cleanup(late)
	allocator, stop := chromedp.NewExecAllocator(whole,
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true))
	t.Cleanup(stop)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(tab); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
		cancel()
	})
	return tab
}

// witness notes what the page must not do: ask anybody but its server, and complain.
type witness struct {
	mu       sync.Mutex
	own      string // the server's origin
	seen     int
	troubles []string
}

func (w *witness) see(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		w.seen++
		if u := ev.Request.URL; !strings.HasPrefix(u, w.own+"/debug/notify/") && !strings.HasPrefix(u, "data:") && u != "about:blank" {
			w.troubles = append(w.troubles, "asked for "+u)
		}
	case *runtime.EventExceptionThrown:
		w.troubles = append(w.troubles, "exception: "+ev.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		w.troubles = append(w.troubles, fmt.Sprintf("console.%s", ev.Type))
	case *cdplog.EventEntryAdded:
		w.troubles = append(w.troubles, fmt.Sprintf("log: %s %s", ev.Entry.Level, ev.Entry.Text))
	}
}

// check fails the test for what the page did; except is a part of what it was made to do.
func (w *witness) check(t *testing.T, except string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == 0 {
		t.Error("no request was seen, not even the page's own: the test looks in the wrong place")
	}
	for _, s := range w.troubles {
		if except == "" || !strings.Contains(s, except) {
			t.Errorf("the page did what it must not: %s", s)
		}
	}
}

// watch opens the page in a browser.
func watch(t *testing.T, origin string, width, height int64, scheme string) (context.Context, *witness) {
	t.Helper()
	ctx, w := browser(t), &witness{own: origin}
	if err := chromedp.Listen(ctx, w.see); err != nil {
		t.Fatal(err)
	}
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		_, err1 := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
		_, err2 := cdp.Call(ctx, t, cdplog.Enable, cdp.Empty{})
		_, err3 := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media)
		return errors.Join(err1, err2, err3)
	}), chromedp.EmulateViewport(width, height), chromedp.Navigate(origin+"/debug/notify/"))
	if err != nil {
		t.Fatal(err)
	}
	return ctx, w
}

// ask evaluates an expression on the page; of a promise, what it promises.
func ask[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// click presses the first thing that a selector finds.
func click(t *testing.T, ctx context.Context, selector string) {
	t.Helper()
	ask[bool](t, ctx, fmt.Sprintf(`document.querySelector(%q).click(), true`, selector))
}

// await waits until an expression is true; it fails only when it never is.
func await(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	ask[bool](t, ctx, `new Promise(done => {
		const look = () => (`+expression+`) ? done(true) : requestAnimationFrame(look);
		look();
	})`)
}

// picture keeps what the page looks like, for people, where PAGE_PICTURES says.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("PAGE_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}
