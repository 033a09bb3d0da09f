package report

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

	"dyno/lab/record"
	"dyno/parts/quicktest"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long a test waits for the browser to do what it will do anyway; it decides no result.
const patience = 2 * time.Minute

// browser starts a headless Chromium for the test.
func browser(t *testing.T) context.Context {
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

// save writes a report's page and returns its address.
func save(t *testing.T, r *Report) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := HTML(f, r); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

// witness notes what a page must not do.
type witness struct {
	mu       sync.Mutex
	requests []string
	troubles []string
}

// forget makes the witness ready for another page.
func (w *witness) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.troubles = nil, nil
}

func (w *witness) see(ev any) {
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

// check reports requests beyond the page itself, and everything on the console.
func (w *witness) check(t *testing.T, url string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) == 0 {
		t.Error("no request was seen, not even the page's own: the test looks in the wrong place")
	}
	for _, r := range w.requests {
		if r, _, _ := strings.Cut(r, "#"); r != url && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page asked for %s", r)
		}
	}
	for _, s := range w.troubles {
		t.Errorf("the page has an error: %s", s)
	}
}

// open opens a page on a screen of that size, with a witness.
func open(t *testing.T, url string, width, height int64, scheme string) (context.Context, *witness) {
	t.Helper()
	ctx, w := browser(t), &witness{}
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

// ask evaluates an expression on the page; of a promise, what it promises.
func ask[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true; it fails only when it never is.
func await(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	ask[bool](t, ctx, `new Promise(done => {
		const look = () => (`+expression+`) ? done(true) : requestAnimationFrame(look);
		look();
	})`)
}

func press(t *testing.T, ctx context.Context, selector, key string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Focus(chromedp.CSS(selector)), chromedp.KeyEvent(key)); err != nil {
		t.Fatalf("pressing %q on %s: %v", key, selector, err)
	}
}

func TestPageInABrowser(t *testing.T) {
	url := save(t, madeLadder().report())
	ctx, w := open(t, url, 1280, 900, "light")

	if n := ask[int](t, ctx, `document.querySelectorAll('#panels canvas').length`); n < 10 {
		t.Errorf("%d series charts were drawn", n)
	}
	if n := ask[int](t, ctx, `document.querySelectorAll('.curves .plot').length`); n != 6 {
		t.Errorf("%d load curves were drawn", n)
	}
	// Something was painted on each canvas, not only placed.
	if blank := ask[int](t, ctx, `[...document.querySelectorAll('canvas')].filter(c => !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)).length`); blank != 0 {
		t.Errorf("%d charts are blank", blank)
	}
	// A paint's shifts are known two frames later.
	if moved := ask[float64](t, ctx, `new Promise(done => {
		let sum = 0;
		new PerformanceObserver(list => { for (const e of list.getEntries()) sum += e.value; }).observe({type: 'layout-shift', buffered: true});
		requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(sum))));
	})`); moved > 0 {
		t.Errorf("the layout moved by %v while the page opened", moved)
	}

	t.Run("one cursor", func(t *testing.T) {
		const other = `document.querySelectorAll('#panels .panel')[1].querySelectorAll('.u-value')[1].textContent`
		if got := ask[string](t, ctx, other); got != "–" && got != "--" {
			t.Fatalf("before the cursor moves the other chart reads %q", got)
		}
		ask[bool](t, ctx, `document.getElementById('panels').scrollIntoView({behavior: 'instant'}), true`)
		box := ask[[]float64](t, ctx, `(b => [b.left, b.top, b.width, b.height])(document.querySelector('#panels .panel .u-over').getBoundingClientRect())`)
		move := func(share float64) {
			if err := chromedp.Do(ctx, chromedp.MouseEvent(chromedp.MouseMoved, box[0]+box[2]*share, box[1]+box[3]/2)); err != nil {
				t.Fatal(err)
			}
		}
		move(0.3)
		await(t, ctx, `/\d/.test(`+other+`) && /^at /.test(document.getElementById('at').textContent)`)
		at := ask[string](t, ctx, `document.getElementById('at').textContent`)
		line := ask[string](t, ctx, `document.querySelectorAll('#panels .panel')[1].querySelector('.u-cursor-x').style.transform`)
		move(0.6)
		await(t, ctx, fmt.Sprintf(`document.getElementById('at').textContent !== %q && document.querySelectorAll('#panels .panel')[1].querySelector('.u-cursor-x').style.transform !== %q`, at, line))
	})

	t.Run("keyboard", func(t *testing.T) {
		press(t, ctx, "#panels", kb.End)
		await(t, ctx, `document.getElementById('at').textContent.startsWith('at 7.4 s')`)
		press(t, ctx, "#panels", kb.ArrowLeft)
		await(t, ctx, `document.getElementById('at').textContent.startsWith('at 7.3 s')`)
		press(t, ctx, "#panels", kb.Home)
		await(t, ctx, `document.getElementById('at').textContent === 'at -2.0 s (warmup)'`)
		press(t, ctx, "#panels th[role=button]", kb.Enter)
		await(t, ctx, `document.querySelector('#panels th[role=button]').getAttribute('aria-pressed') === 'false'`)
		press(t, ctx, "#conditions details summary", kb.Enter)
		await(t, ctx, `document.querySelector('#conditions details').open`)
	})

	t.Run("another run", func(t *testing.T) {
		ask[bool](t, ctx, `(s => { s.value = '0'; s.dispatchEvent(new Event('change')); return true; })(document.getElementById('run'))`)
		await(t, ctx, `document.querySelectorAll('#panels canvas').length >= 10`)
	})

	t.Run("dark, and light on paper", func(t *testing.T) {
		const ground = `getComputedStyle(document.body).backgroundColor`
		light := ask[string](t, ctx, ground)
		ctx, w := open(t, url, 1280, 900, "dark")
		if got := ask[string](t, ctx, ground); got == light {
			t.Errorf("dark and light have the same ground %s", got)
		}
		ask[bool](t, ctx, `dispatchEvent(new Event('beforeprint'))`)
		if got := ask[string](t, ctx, ground); got != light {
			t.Errorf("paper has the ground %s, want %s", got, light)
		}
		ask[bool](t, ctx, `dispatchEvent(new Event('afterprint'))`)
		if got := ask[string](t, ctx, ground); got == light {
			t.Error("after printing the page stays light")
		}
		w.check(t, url)
	})
	w.check(t, url)
}

// TestPagesOnAPhone opens every kind of report on a narrow screen: the page itself never scrolls sideways,
// and nothing is asked for or complained of.
func TestPagesOnAPhone(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	reports := madeReports()
	reports["interrupted"] = endedEarly(record.OutcomeInterrupted, "a signal ended it").report()
	reports["invalid"] = endedEarly(record.OutcomeInvalid, "the load generator was the limit in 31 of 40 slices").report()
	reports["hostile"], reports["hostile-load"], reports["hostile-cause"] = hostileReport(), hostileLoad(), hostileCause()
	ctx, w := open(t, "about:blank", 375, 800, "light")
	for name, r := range reports {
		t.Run(name, func(t *testing.T) {
			url := save(t, r)
			w.forget()
			if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
				t.Fatal(err)
			}
			if wide := ask[int](t, ctx, `document.documentElement.scrollWidth`); wide > 375 {
				t.Errorf("the page is %d px wide on a screen of 375; too wide: %v", wide, ask[[]string](t, ctx,
					`[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 376 && !e.closest('.scroll, pre, nav, .uplot')).slice(0, 8).map(e => e.tagName + '.' + (e.className.baseVal ?? e.className) + ' ' + e.textContent.slice(0, 30))`))
			}
			if n := ask[int](t, ctx, `document.querySelectorAll('img').length`); n != 0 {
				t.Errorf("%d images came from names", n)
			}
			w.check(t, url)
		})
	}
}

// TestWitnessSees proves that what the tests above look for would be seen.
func TestWitnessSees(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	path := filepath.Join(t.TempDir(), "bad.html")
	if err := os.WriteFile(path, []byte(`<!doctype html><link rel="icon" href="data:,"><img src="http://127.0.0.1:9/x.png"><script>console.error('x'); throw new Error('y')</script>`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, w := open(t, "file://"+path, 800, 600, "light")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) != 2 || len(w.troubles) < 2 {
		t.Errorf("of a bad page the witness saw %q and %q", w.requests, w.troubles)
	}
}
