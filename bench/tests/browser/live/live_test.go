package live_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/bench/tests/browser"
	"dyno/lab/live"
	"dyno/lab/live/livetest"
	"dyno/lab/record"
	"dyno/parts/quicktest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// serve serves a folder until the test ends, and returns the origin.
func serve(t *testing.T, dir string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := live.New(live.Options{Dir: dir})
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
	m := livetest.New(t, filepath.Join(dir, "shop-1"), record.KindCapacity, time.Now(), "plain", "fast")
	m.Search("plain", 1000, 2000)
	run := m.Begin(record.RoleSearch, "fast", 0, 3000).Grow(30)
	origin := serve(t, dir)
	ctx, w := browser.Open(t, origin+"/run/shop-1/", 1280, 900, "light")

	browser.Await(t, ctx, `document.querySelectorAll('#panels canvas').length >= 8 && document.querySelectorAll('#rows tr').length === 2`)
	browser.Await(t, ctx, lastTime+` === 2.9`)
	if got := browser.Ask[string](t, ctx, `document.getElementById('now').textContent`); got != "run 3: fast, search" {
		t.Errorf("the page says of the run under way: %q", got)
	}
	run.Grow(70)
	browser.Await(t, ctx, lastTime+` === 9.9`)
	if blank := browser.Ask[int](t, ctx, `[...document.querySelectorAll('canvas')].filter(c => !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)).length`); blank != 0 {
		t.Errorf("%d charts are blank", blank)
	}
	browser.Picture(t, ctx, "live")

	t.Run("one cursor", func(t *testing.T) {
		if err := chromedp.Do(ctx, chromedp.Focus(chromedp.CSS("#panels")), chromedp.KeyEvent(kb.Home)); err != nil {
			t.Fatal(err)
		}
		browser.Await(t, ctx, `document.getElementById('at').textContent === 'at 0.0 s (warmup)'`)
		browser.Await(t, ctx, `/\d/.test(document.querySelectorAll('#panels .panel')[1].querySelectorAll('.u-value')[1].textContent)`)
		browser.Ask[bool](t, ctx, `document.activeElement.blur(), true`)
	})

	run.End()
	browser.Await(t, ctx, `document.querySelectorAll('#rows tr').length === 3 && document.getElementById('now').textContent.startsWith('after run 3')`)
	if kept := browser.Ask[string](t, ctx, `document.getElementById('which').textContent + document.querySelectorAll('#panels canvas').length`); kept != "003-search-fast, ended9" {
		t.Errorf("between two runs the page shows %q", kept)
	}
	last := m.Begin(record.RoleSearch, "fast", 0, 4000).Grow(15)
	browser.Await(t, ctx, `document.getElementById('now').textContent === 'run 4: fast, search' && `+lastTime+` === 1.4`)
	last.Grow(20).End()
	m.Finish()
	browser.Await(t, ctx, `document.querySelector('.banner') && document.querySelector('.links') && document.querySelectorAll('#runs tbody tr').length === 4`)
	if url := browser.Ask[string](t, ctx, `location.href`); url != origin+"/run/shop-1/" {
		t.Errorf("the page became %s", url)
	}
	w.Check(t, origin)
}

func TestListInABrowser(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	dir := t.TempDir()
	for i, name := range []string{"old shop", "new#shop?", livetest.Hostile[:1] + "x"} {
		m := livetest.New(t, filepath.Join(dir, name), record.KindCapacity, time.Unix(1.7e9+int64(i)*1e5, 0), "plain")
		m.Search("plain", 1000, 2000, 3000, 4000, 4500)
		m.Finish()
	}
	livetest.New(t, filepath.Join(dir, "going"), record.KindLadder, time.Unix(1.8e9, 0), "plain")
	origin := serve(t, dir)
	ctx, w := browser.Open(t, origin+"/", 1280, 900, "light")

	browser.Await(t, ctx, `document.querySelectorAll('.experiments > li').length === 4`)
	browser.Await(t, ctx, `[...document.querySelectorAll('[data-ask]')].every(e => /shop carries/.test(e.textContent))`)
	if got := browser.Ask[string](t, ctx, `document.querySelector('.experiments > li .state').textContent`); got != "going on" {
		t.Errorf("the experiment that goes on is %q", got)
	}
	browser.Picture(t, ctx, "list")
	browser.Ask[bool](t, ctx, `(s => { s.value = 'NEW#'; s.dispatchEvent(new Event('input')); return true; })(document.getElementById('search'))`)
	browser.Await(t, ctx, `[...document.querySelectorAll('.experiments > li')].filter(li => !li.hidden).length === 1`)
	browser.Ask[bool](t, ctx, `(s => { s.value = ''; s.dispatchEvent(new Event('input')); return true; })(document.getElementById('search'))`)

	// Names with every odd character lead where they say.
	browser.Ask[bool](t, ctx, `[...document.querySelectorAll('.experiments > li')].find(li => li.querySelector('code').textContent === 'new#shop?').querySelector('h2 a').click(), true`)
	browser.Await(t, ctx, `document.readyState === 'complete' && decodeURIComponent(location.pathname) === '/run/new#shop?/' && document.querySelectorAll('#panels canvas').length > 5`)
	w.Check(t, origin)
}

// TestPagesOnAPhone opens every page on a narrow screen in the dark: none of them scrolls sideways.
func TestPagesOnAPhone(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	dir := t.TempDir()
	long := strings.Repeat("a-very-long-name-", 8)
	for _, name := range []string{"one", long} {
		m := livetest.New(t, filepath.Join(dir, name), record.KindCapacity, time.Unix(1.7e9, 0), long)
		m.Search(long, 1000, 4500)
		m.Finish()
	}
	m := livetest.New(t, filepath.Join(dir, "going"), record.KindLadder, time.Now(), "plain")
	m.Search("plain", 1000)
	m.Begin(record.RoleSearch, "plain", 0, 2000).Grow(40)
	origin := serve(t, dir)
	ctx, w := browser.Open(t, origin+"/", 375, 800, "dark")
	for _, page := range []struct{ path, name, ready string }{
		{"/", "list", `[...document.querySelectorAll('[data-ask]')].every(e => /shop/.test(e.textContent))`},
		{"/run/going/", "live", `document.querySelectorAll('#panels canvas').length >= 8`},
		{"/run/one/", "report", `document.querySelectorAll('#panels canvas').length >= 8`},
		{"/run/none/", "none", `document.querySelector('h1').textContent === 'Not found'`},
	} {
		browser.Visit(t, ctx, origin+page.path)
		browser.Await(t, ctx, page.ready)
		browser.Picture(t, ctx, "phone-"+page.name)
		browser.Fits(t, ctx, 375)
	}
	w.Check(t, origin, "404") // which the test requested
}
