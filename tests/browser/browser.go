// Package browser opens pages in a headless Chromium for tests, and records what a page must not do:
// requests to other servers, and errors on the console.
//
// It is for tests only, which skip without a Chromium. The browser's process and its goroutines end
// with the test.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
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

// Start starts a headless Chromium for the test.
func Start(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium in PATH, so the page is not looked at; on Debian: apt-get install chromium")
	}
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

// witness notes what a page must not do.
type witness struct {
	Mu       sync.Mutex
	Requests []string
	Troubles []string
}

// Forget makes the witness ready for another page.
func (w *witness) Forget() {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Requests, w.Troubles = nil, nil
}

func (w *witness) see(ev any) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		w.Requests = append(w.Requests, ev.Request.URL)
	case *runtime.EventExceptionThrown:
		w.Troubles = append(w.Troubles, "exception: "+ev.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		w.Troubles = append(w.Troubles, fmt.Sprintf("console.%s", ev.Type))
	case *cdplog.EventEntryAdded:
		w.Troubles = append(w.Troubles, fmt.Sprintf("log: %s %s", ev.Entry.Level, ev.Entry.Text))
	}
}

// Check reports requests beyond the page itself, and everything on the console.
func (w *witness) Check(t *testing.T, url string) {
	t.Helper()
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if len(w.Requests) == 0 {
		t.Error("no request was seen, not even the page's own: the test looks in the wrong place")
	}
	for _, r := range w.Requests {
		if r, _, _ := strings.Cut(r, "#"); r != url && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page asked for %s", r)
		}
	}
	for _, s := range w.Troubles {
		t.Errorf("the page has an error: %s", s)
	}
}

// Open opens a page on a screen of that size, with a witness.
func Open(t *testing.T, url string, width, height int64, scheme string) (context.Context, *witness) {
	t.Helper()
	ctx, w := Start(t), &witness{}
	if err := chromedp.Listen(ctx, w.see); err != nil {
		t.Fatal(err)
	}
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		_, err1 := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
		_, err2 := cdp.Call(ctx, t, cdplog.Enable, cdp.Empty{})
		_, err3 := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media)
		return errors.Join(err1, err2, err3)
	}), chromedp.EmulateViewport(width, height), chromedp.Navigate(url))
	if err != nil {
		t.Fatal(err)
	}
	return ctx, w
}

// Ask evaluates an expression on the page; of a promise, what it promises.
func Ask[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Await waits until an expression is true; it fails only when it never is.
func Await(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	Ask[bool](t, ctx, `new Promise(done => {
		const look = () => (`+expression+`) ? done(true) : requestAnimationFrame(look);
		look();
	})`)
}

func Press(t *testing.T, ctx context.Context, selector, key string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Focus(chromedp.CSS(selector)), chromedp.KeyEvent(key)); err != nil {
		t.Fatalf("pressing %q on %s: %v", key, selector, err)
	}
}
