// Package browser opens pages in a headless Chromium for tests, and records what a page must not
// do: requests to other servers, and errors on the console.
//
// It is for tests only, which skip without a Chromium. The browser's process and its goroutines end
// with the test.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// patience bounds the life of a browser; it is reached only when a test fails.
const patience = 10 * time.Minute

// Installed finds the browser, or skips the test.
func Installed(t *testing.T) (path string) {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium in PATH, so the page is not looked at; on Debian: apt-get install chromium")
	return ""
}

// Start starts a headless Chromium for the test, with further options.
func Start(t *testing.T, further ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path := Installed(t)
	whole, late := context.WithTimeout(context.Background(), patience)
	t.Cleanup(late)
	options := append([]chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.WSURLReadTimeout(patience), chromedp.NoSandbox, chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true)}, further...)
	allocator, stop := chromedp.NewExecAllocator(whole, options...)
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

// Witness records what pages do: their requests, and what is on the console.
type Witness struct {
	mu       sync.Mutex
	requests []string
	troubles []string
}

// Forget makes the witness ready for another page.
func (w *Witness) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.troubles = nil, nil
}

// Saw returns the requests and the troubles so far.
func (w *Witness) Saw() (requests, troubles []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests), slices.Clone(w.troubles)
}

func (w *Witness) see(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		w.requests = append(w.requests, ev.Request.URL)
	case *runtime.EventExceptionThrown:
		w.troubles = append(w.troubles, "exception: "+ev.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		w.troubles = append(w.troubles, fmt.Sprintf("console.%s", ev.Type))
	case *cdplog.EventEntryAdded:
		w.troubles = append(w.troubles, fmt.Sprintf("log: %s %s", ev.Entry.Level, ev.Entry.Text))
	}
}

// Check fails the test for requests beyond the pages' own, which begin with a prefix, and for
// everything on the console that does not hold one of the texts.
func (w *Witness) Check(t *testing.T, own string, except ...string) {
	t.Helper()
	requests, troubles := w.Saw()
	if len(requests) == 0 {
		t.Error("no request was seen, not even the page's own: the test looks in the wrong place")
	}
	for _, r := range requests {
		if !strings.HasPrefix(r, own) && !strings.HasPrefix(r, "data:") && r != "about:blank" {
			t.Errorf("a page requested %s", r)
		}
	}
	for _, s := range troubles {
		if !slices.ContainsFunc(except, func(text string) bool { return strings.Contains(s, text) }) {
			t.Errorf("a page has an error: %s", s)
		}
	}
}

// Open opens a page on a screen of that size, with a witness.
func Open(t *testing.T, url string, width, height int64, scheme string) (context.Context, *Witness) {
	t.Helper()
	ctx, w := Start(t), &Witness{}
	if err := chromedp.Listen(ctx, w.see); err != nil {
		t.Fatal(err)
	}
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err1 := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
		_, err2 := cdp.Call(ctx, t, cdplog.Enable, cdp.Empty{})
		return errors.Join(err1, err2)
	}))
	if err != nil {
		t.Fatal(err)
	}
	Emulate(t, ctx, width, height, scheme)
	Visit(t, ctx, url)
	return ctx, w
}

// Emulate makes the screen one of that size, and the colour scheme light or dark.
func Emulate(t *testing.T, ctx context.Context, width, height int64, scheme string) {
	t.Helper()
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media)
		return err
	}), chromedp.EmulateViewport(width, height))
	if err != nil {
		t.Fatal(err)
	}
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

// Await waits until an expression is true; it fails only when it never is. If the page is replaced
// meanwhile, the expression is evaluated on the new page.
func Await(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	for {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`new Promise(done => {
			const look = () => (`+expression+`) ? done(true) : requestAnimationFrame(look);
			look();
		})`, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
		switch {
		case err == nil:
			return
		case ctx.Err() != nil || !strings.Contains(err.Error(), "navigated") && !strings.Contains(err.Error(), "context"):
			t.Fatalf("%s: %v", expression, err)
		}
	}
}

// Press presses a key on the first element that a selector finds.
func Press(t *testing.T, ctx context.Context, selector, key string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Focus(chromedp.CSS(selector)), chromedp.KeyEvent(key)); err != nil {
		t.Fatalf("pressing %q on %s: %v", key, selector, err)
	}
}

// Click clicks the first element that a selector finds.
func Click(t *testing.T, ctx context.Context, selector string) {
	t.Helper()
	Ask[bool](t, ctx, fmt.Sprintf(`document.querySelector(%q).click(), true`, selector))
}

// Visit navigates to a page.
func Visit(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
}

// Fits fails the test for what makes a page scroll sideways on a screen of that width.
func Fits(t *testing.T, ctx context.Context, width int) {
	t.Helper()
	if wide := Ask[int](t, ctx, `document.documentElement.scrollWidth`); wide > width {
		t.Errorf("the page is %d px wide on a screen of %d; too wide: %v", wide, width, Ask[[]string](t, ctx, fmt.Sprintf(
			`[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > %d && !e.closest('.scroll, pre, nav, .uplot')).slice(0, 8).map(e => e.tagName + '.' + (e.className.baseVal ?? e.className) + ' ' + e.textContent.slice(0, 30))`, width+1)))
	}
}

// Picture saves a screenshot for people, in the folder that BROWSER_PICTURES names.
func Picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("BROWSER_PICTURES")
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
