package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dyno/bench/tests/browser"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/html"
	"dyno/lab/report/reporttest"
	"dyno/parts/quicktest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// save writes a report's page and returns its address.
func save(t *testing.T, r *report.Report) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := html.Page(f, r); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

func TestPageInABrowser(t *testing.T) {
	url := save(t, reporttest.Why().Report())
	ctx, w := browser.Open(t, url, 1280, 900, "light")

	if n := browser.Ask[int](t, ctx, `document.querySelectorAll('#panels canvas').length`); n < 10 {
		t.Errorf("%d series charts were drawn", n)
	}
	if n := browser.Ask[int](t, ctx, `document.querySelectorAll('.curves .plot').length`); n != 3 {
		t.Errorf("%d load curves were drawn", n)
	}
	// Something was painted on each canvas, not only placed.
	if blank := browser.Ask[int](t, ctx, `[...document.querySelectorAll('canvas')].filter(c => !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)).length`); blank != 0 {
		t.Errorf("%d charts are blank", blank)
	}
	// A paint's shifts are known two frames later.
	if moved := browser.Ask[float64](t, ctx, `new Promise(done => {
		let sum = 0;
		new PerformanceObserver(list => { for (const e of list.getEntries()) sum += e.value; }).observe({type: 'layout-shift', buffered: true});
		requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(sum))));
	})`); moved > 0.01 { // a slow machine paints before the last chart has its axes
		t.Errorf("the layout moved by %v while the page opened", moved)
	}

	t.Run("one cursor", func(t *testing.T) {
		const other = `document.querySelectorAll('#panels .panel')[1].querySelectorAll('.u-value')[1].textContent`
		if got := browser.Ask[string](t, ctx, other); got != "–" && got != "--" {
			t.Fatalf("before the cursor moves the other chart reads %q", got)
		}
		browser.Ask[bool](t, ctx, `document.getElementById('panels').scrollIntoView({behavior: 'instant'}), true`)
		box := browser.Ask[[]float64](t, ctx, `(b => [b.left, b.top, b.width, b.height])(document.querySelector('#panels .panel .u-over').getBoundingClientRect())`)
		move := func(share float64) {
			if err := chromedp.Do(ctx, chromedp.MouseEvent(chromedp.MouseMoved, box[0]+box[2]*share, box[1]+box[3]/2)); err != nil {
				t.Fatal(err)
			}
		}
		move(0.3)
		browser.Await(t, ctx, `/\d/.test(`+other+`) && /^at /.test(document.getElementById('at').textContent)`)
		at := browser.Ask[string](t, ctx, `document.getElementById('at').textContent`)
		line := browser.Ask[string](t, ctx, `document.querySelectorAll('#panels .panel')[1].querySelector('.u-cursor-x').style.transform`)
		move(0.6)
		browser.Await(t, ctx, fmt.Sprintf(`document.getElementById('at').textContent !== %q && document.querySelectorAll('#panels .panel')[1].querySelector('.u-cursor-x').style.transform !== %q`, at, line))
	})

	t.Run("keyboard", func(t *testing.T) {
		browser.Press(t, ctx, "#panels", kb.End)
		browser.Await(t, ctx, `document.getElementById('at').textContent.startsWith('at 7.4 s')`)
		browser.Press(t, ctx, "#panels", kb.ArrowLeft)
		browser.Await(t, ctx, `document.getElementById('at').textContent.startsWith('at 7.3 s')`)
		browser.Press(t, ctx, "#panels", kb.Home)
		browser.Await(t, ctx, `document.getElementById('at').textContent === 'at -2.0 s (warmup)'`)
		browser.Press(t, ctx, "#panels th[role=button]", kb.Enter)
		browser.Await(t, ctx, `document.querySelector('#panels th[role=button]').getAttribute('aria-pressed') === 'false'`)
		browser.Press(t, ctx, "#conditions details summary", kb.Enter)
		browser.Await(t, ctx, `document.querySelector('#conditions details').open`)
	})

	t.Run("another run", func(t *testing.T) {
		browser.Ask[bool](t, ctx, `(s => { s.value = '0'; s.dispatchEvent(new Event('change')); return true; })(document.getElementById('run'))`)
		browser.Await(t, ctx, `document.querySelectorAll('#panels canvas').length >= 10`)
	})

	t.Run("dark, and light on paper", func(t *testing.T) {
		const ground = `getComputedStyle(document.body).backgroundColor`
		light := browser.Ask[string](t, ctx, ground)
		ctx, w := browser.Open(t, url, 1280, 900, "dark")
		if got := browser.Ask[string](t, ctx, ground); got == light {
			t.Errorf("dark and light have the same ground %s", got)
		}
		browser.Ask[bool](t, ctx, `dispatchEvent(new Event('beforeprint'))`)
		if got := browser.Ask[string](t, ctx, ground); got != light {
			t.Errorf("paper has the ground %s, want %s", got, light)
		}
		browser.Ask[bool](t, ctx, `dispatchEvent(new Event('afterprint'))`)
		if got := browser.Ask[string](t, ctx, ground); got == light {
			t.Error("after printing the page stays light")
		}
		w.Check(t, url)
	})
	w.Check(t, url)
}

// TestPagesOnAPhone opens every kind of report on a narrow screen: the page itself never scrolls
// sideways, and nothing is asked for or complained of.
func TestPagesOnAPhone(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	reports := reporttest.Reports()
	reports["interrupted"] = reporttest.EndedEarly(record.OutcomeInterrupted, "a signal ended it").Report()
	reports["invalid"] = reporttest.EndedEarly(record.OutcomeInvalid, "the load generator was the limit in 31 of 40 slices").Report()
	reports["hostile"], reports["hostile-load"], reports["hostile-cause"] = reporttest.HostileReport(), reporttest.HostileLoad(), reporttest.HostileCause()
	ctx, w := browser.Open(t, "about:blank", 375, 800, "light")
	for name, r := range reports {
		t.Run(name, func(t *testing.T) {
			url := save(t, r)
			w.Forget()
			browser.Visit(t, ctx, url)
			browser.Fits(t, ctx, 375)
			if n := browser.Ask[int](t, ctx, `document.querySelectorAll('img').length`); n != 0 {
				t.Errorf("%d images came from names", n)
			}
			w.Check(t, url)
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
	_, w := browser.Open(t, "file://"+path, 800, 600, "light")
	if requests, troubles := w.Saw(); len(requests) != 2 || len(troubles) < 2 {
		t.Errorf("of a bad page the witness saw %q and %q", requests, troubles)
	}
}
