package live

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// patience is how long a test waits for the browser to finish; it decides no result.
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
		t.Skip("no Chromium in PATH, so the pages are not looked at; on Debian: apt-get install chromium")
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

// witness records forbidden behaviour of pages: requests to other servers, and errors.
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
		if u := ev.Request.URL; !strings.HasPrefix(u, w.own) && !strings.HasPrefix(u, "data:") && u != "about:blank" {
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

func (w *witness) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == 0 {
		t.Error("no request was seen, not even the page's own: the test looks in the wrong place")
	}
	for _, s := range w.troubles {
		t.Errorf("a page did what it must not: %s", s)
	}
}

// watch opens a page of the server in a browser.
func watch(t *testing.T, origin, page string, width, height int64, scheme string) (context.Context, *witness) {
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
	}), chromedp.EmulateViewport(width, height), chromedp.Navigate(origin+page))
	if err != nil {
		t.Fatal(err)
	}
	return ctx, w
}

// ask evaluates an expression on the page; for a promise, its result.
func ask[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true; it fails only when it never is. If the page is replaced
// meanwhile, the expression is evaluated on the new page.
func await(t *testing.T, ctx context.Context, expression string) {
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

// picture saves a screenshot for inspection in the folder LIVE_PICTURES.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("LIVE_PICTURES")
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

// serve serves a folder until the test ends, and returns the origin.
func serve(t *testing.T, dir string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Dir: dir})
	s.pace.look = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return "http://" + ln.Addr().String()
}

// lastTime reads the last time in the page's charts.
const lastTime = `parseFloat(document.getElementById('at').textContent)`

func TestRunGrowsInABrowser(t *testing.T) {
	dir := t.TempDir()
	m := newMade(t, filepath.Join(dir, "shop-1"), record.KindCapacity, time.Now(), "plain", "fast")
	m.search("plain", 1000, 2000)
	run := m.begin(record.RoleSearch, "fast", 0, 3000).grow(30)
	origin := serve(t, dir)
	ctx, w := watch(t, origin, "/run/shop-1/", 1280, 900, "light")

	await(t, ctx, `document.querySelectorAll('#panels canvas').length >= 8 && document.querySelectorAll('#rows tr').length === 2`)
	await(t, ctx, lastTime+` === 2.9`)
	if got := ask[string](t, ctx, `document.getElementById('now').textContent`); got != "run 3: fast, search" {
		t.Errorf("the page says of the run under way: %q", got)
	}
	run.grow(70)
	await(t, ctx, lastTime+` === 9.9`)
	if blank := ask[int](t, ctx, `[...document.querySelectorAll('canvas')].filter(c => !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)).length`); blank != 0 {
		t.Errorf("%d charts are blank", blank)
	}
	picture(t, ctx, "live")

	t.Run("one cursor", func(t *testing.T) {
		if err := chromedp.Do(ctx, chromedp.Focus(chromedp.CSS("#panels")), chromedp.KeyEvent(kb.Home)); err != nil {
			t.Fatal(err)
		}
		await(t, ctx, `document.getElementById('at').textContent === 'at 0.0 s (warmup)'`)
		await(t, ctx, `/\d/.test(document.querySelectorAll('#panels .panel')[1].querySelectorAll('.u-value')[1].textContent)`)
		ask[bool](t, ctx, `document.activeElement.blur(), true`)
	})

	run.end()
	await(t, ctx, `document.querySelectorAll('#rows tr').length === 3 && document.getElementById('now').textContent.startsWith('after run 3')`)
	if kept := ask[string](t, ctx, `document.getElementById('which').textContent + document.querySelectorAll('#panels canvas').length`); kept != "003-search-fast, ended9" {
		t.Errorf("between two runs the page shows %q", kept)
	}
	last := m.begin(record.RoleSearch, "fast", 0, 4000).grow(15)
	await(t, ctx, `document.getElementById('now').textContent === 'run 4: fast, search' && `+lastTime+` === 1.4`)
	last.grow(20).end()
	m.finish()
	await(t, ctx, `document.querySelector('.banner') && document.querySelector('.links') && document.querySelectorAll('#runs tbody tr').length === 4`)
	if url := ask[string](t, ctx, `location.href`); url != origin+"/run/shop-1/" {
		t.Errorf("the page became %s", url)
	}
	w.check(t)
}

func TestListAndComparisonInABrowser(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	dir := t.TempDir()
	for i, name := range []string{"old shop", "new#shop?", hostile[:1] + "x"} {
		m := newMade(t, filepath.Join(dir, name), record.KindCapacity, time.Unix(1.7e9+int64(i)*1e5, 0), "plain")
		m.slow["plain"] = 1 + float64(i)/4
		m.search("plain", 1000, 2000, 3000, 4000, 4500)
		m.finish()
	}
	newMade(t, filepath.Join(dir, "going"), record.KindLadder, time.Unix(1.8e9, 0), "plain")
	origin := serve(t, dir)
	ctx, w := watch(t, origin, "/", 1280, 900, "light")

	await(t, ctx, `document.querySelectorAll('.experiments > li').length === 4`)
	await(t, ctx, `[...document.querySelectorAll('[data-ask]')].every(e => /shop carries/.test(e.textContent))`)
	if got := ask[string](t, ctx, `document.querySelector('.experiments > li .state').textContent`); got != "going on" {
		t.Errorf("the experiment that goes on is %q", got)
	}
	picture(t, ctx, "list")
	ask[bool](t, ctx, `(s => { s.value = 'NEW#'; s.dispatchEvent(new Event('input')); return true; })(document.getElementById('search'))`)
	await(t, ctx, `[...document.querySelectorAll('.experiments > li')].filter(li => !li.hidden).length === 1`)
	ask[bool](t, ctx, `(s => { s.value = ''; s.dispatchEvent(new Event('input')); return true; })(document.getElementById('search'))`)

	// Names with every odd character lead where they say.
	ask[bool](t, ctx, `document.querySelector('input[name=a][value="old shop"]').click(), document.querySelector('input[name=b][value="new#shop?"]').click(), document.getElementById('go').click(), true`)
	await(t, ctx, `document.readyState === 'complete' && document.querySelectorAll('.xy canvas').length === 1`)
	if text := ask[string](t, ctx, `document.querySelector('main').textContent`); !strings.Contains(text, "not measured in turns") {
		t.Error("nothing warns that the two were not measured in turns")
	}
	if n := ask[int](t, ctx, `document.querySelectorAll('.xy .toggles button').length`); n != 2 {
		t.Errorf("the chart shows %d sides", n)
	}
	picture(t, ctx, "compare")
	ask[bool](t, ctx, `document.querySelector('.sides .b h2 a').click(), true`)
	await(t, ctx, `document.readyState === 'complete' && decodeURIComponent(location.pathname) === '/run/new#shop?/' && document.querySelectorAll('#panels canvas').length > 5`)
	w.check(t)
}

// TestPagesOnAPhone opens every page on a narrow screen in the dark: none of them scrolls sideways.
func TestPagesOnAPhone(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	dir := t.TempDir()
	long := strings.Repeat("a-very-long-name-", 8)
	for _, name := range []string{"one", long} {
		m := newMade(t, filepath.Join(dir, name), record.KindCapacity, time.Unix(1.7e9, 0), long)
		m.search(long, 1000, 4500)
		m.finish()
	}
	m := newMade(t, filepath.Join(dir, "going"), record.KindLadder, time.Now(), "plain")
	m.search("plain", 1000)
	m.begin(record.RoleSearch, "plain", 0, 2000).grow(40)
	origin := serve(t, dir)
	ctx, w := watch(t, origin, "/", 375, 800, "dark")
	for _, page := range []struct{ path, name, ready string }{
		{"/", "list", `[...document.querySelectorAll('[data-ask]')].every(e => /shop/.test(e.textContent))`},
		{"/run/going/", "live", `document.querySelectorAll('#panels canvas').length >= 8`},
		{"/compare?a=one&b=" + long, "compare", `document.querySelectorAll('.xy canvas').length === 1`},
		{"/run/one/", "report", `document.querySelectorAll('#panels canvas').length >= 8`},
		{"/run/none/", "none", `document.querySelector('h1').textContent === 'Not found'`},
	} {
		if err := chromedp.Do(ctx, chromedp.Navigate(origin+page.path)); err != nil {
			t.Fatal(err)
		}
		await(t, ctx, page.ready)
		picture(t, ctx, "phone-"+page.name)
		if wide := ask[int](t, ctx, `document.documentElement.scrollWidth`); wide > 375 {
			t.Errorf("%s is %d px wide on a screen of 375; too wide: %v", page.path, wide, ask[[]string](t, ctx,
				`[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 376 && !e.closest('.scroll, pre, nav, .uplot')).slice(0, 8).map(e => e.tagName + '.' + (e.className.baseVal ?? e.className) + ' ' + e.textContent.slice(0, 30))`))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.troubles {
		if !strings.Contains(s, "404") { // which the test requested
			t.Error(s)
		}
	}
}
