package report_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dyno/bench/tests/browser"
	"dyno/lab/report/reporttest"
	"dyno/parts/quicktest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// frameCalled finds the frame of a function on the page.
func frameCalled(function string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('#flame g.frame')].find(g => g.__data__.data.name === %q)`, function)
}

// widthOf is how wide a frame will be when it has settled, as a share of the graph.
func widthOf(function string) string {
	return fmt.Sprintf(`(g => g ? (g.__data__.x1 - g.__data__.x0) : 0)(%s)`, frameCalled(function))
}

// line reads what is said below the graph.
const line = `document.getElementById('flame-read').textContent`

func choose(t *testing.T, ctx context.Context, id, value string) {
	t.Helper()
	browser.Ask[bool](t, ctx, fmt.Sprintf(`(s => { s.value = %q; s.dispatchEvent(new Event('change')); return true; })(document.getElementById(%q))`, value, id))
}

func TestFlameGraphsInABrowser(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	url := save(t, reporttest.Why().Report())
	ctx, w := browser.Open(t, url, 1280, 900, "light")
	const decode = "encoding/json.(*decodeState).object"

	// The page opens with the last variant's CPU.
	browser.Await(t, ctx, frameCalled(decode)+` !== undefined`)
	if got := browser.Ask[string](t, ctx, `document.getElementById('flame-about').textContent`); got != "lock-free: 304 us per request, profiled at 3,910/s, from 32 clients in a closed loop, over 5 s, 10,000 requests." {
		t.Errorf("about: %s", got)
	}
	if n := browser.Ask[int](t, ctx, `[...document.querySelectorAll('#flame rect')].filter(r => !/^rgb|^#/.test(r.getAttribute('fill'))).length`); n != 0 {
		t.Errorf("%d frames have no colour", n)
	}
	whole := browser.Ask[float64](t, ctx, widthOf(decode))
	if whole < 0.2 || whole > 0.25 {
		t.Errorf("decoding takes %v of the graph, want 68 of 304", whole)
	}

	t.Run("a click zooms, the button resets", func(t *testing.T) {
		click := func(function string) {
			browser.Ask[bool](t, ctx, frameCalled(function)+`.dispatchEvent(new MouseEvent('click', {bubbles: true})), true`)
		}
		click(decode)
		browser.Await(t, ctx, widthOf(decode)+` === 1`)
		browser.Await(t, ctx, frameCalled("runtime.gcBgMarkWorker")+` === undefined`)
		browser.Await(t, ctx, line+` === 'encoding/json.(*decodeState).object (decode.go:128): 68.0 us per request, 22.4% of all; self 52.0'`)
		browser.Await(t, ctx, `decodeURIComponent(location.hash) === '#flame=lock-free,cpu,`+decode+`'`)
		browser.Ask[bool](t, ctx, `document.getElementById('flame-reset').click(), true`)
		browser.Await(t, ctx, fmt.Sprintf(`%s === %v`, widthOf(decode), whole))
		browser.Await(t, ctx, frameCalled("runtime.gcBgMarkWorker")+` !== undefined`)
	})

	t.Run("keyboard", func(t *testing.T) {
		browser.Press(t, ctx, "#flame", kb.ArrowDown)
		browser.Await(t, ctx, `document.querySelector('#flame .current').__data__.data.name === 'net/http.(*conn).serve' && `+line+`.startsWith('net/http.(*conn).serve')`)
		browser.Press(t, ctx, "#flame", kb.ArrowRight)
		browser.Await(t, ctx, `document.querySelector('#flame .current').__data__.data.name === 'dyno/services/notify.(*Sender).loop'`)
		browser.Press(t, ctx, "#flame", kb.Enter)
		browser.Await(t, ctx, widthOf("dyno/services/notify.(*Sender).loop")+` === 1`)
		browser.Press(t, ctx, "#flame", kb.Escape)
		browser.Await(t, ctx, widthOf("dyno/services/notify.(*Sender).loop")+` < 0.4`)
	})

	t.Run("search", func(t *testing.T) {
		if err := chromedp.Do(ctx, chromedp.SendKeys(chromedp.CSS("#flame-search"), "MALLOC")); err != nil {
			t.Fatal(err)
		}
		browser.Await(t, ctx, `document.getElementById('flame-found').textContent === '1 found: 16.0 us per request, 5.3%'`)
		browser.Press(t, ctx, "#flame-search", kb.Escape)
		browser.Await(t, ctx, `document.getElementById('flame-search').value === '' && document.getElementById('flame-found').textContent === ''`)
	})

	t.Run("difference", func(t *testing.T) {
		choose(t, ctx, "flame-a", "baseline")
		choose(t, ctx, "flame-b", "decode")
		about := browser.Ask[string](t, ctx, `document.getElementById('flame-about').textContent`)
		if want := "decode less baseline, us per request: 271 less 312, −40.8. Red costs more in decode, blue less, the more so the stronger; a frame is as wide as the larger of the two."; about != want {
			t.Errorf("about: %s", about)
		}
		if red, blue := redness(t, ctx, decode), redness(t, ctx, "net/http.(*Transport).roundTrip"); red >= -20 || blue > 20 || blue < -20 {
			t.Errorf("what costs less is %d red, what costs the same %d", red, blue)
		}
		browser.Ask[bool](t, ctx, frameCalled(decode)+`.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})), true`)
		browser.Await(t, ctx, line+`.endsWith('68.0 in baseline, 27.2 in decode: −40.8 us per request (−60.0%); self −31.2')`)
		choose(t, ctx, "flame-a", "decode")
		choose(t, ctx, "flame-b", "baseline")
		if red := redness(t, ctx, decode); red <= 20 {
			t.Errorf("what costs more is %d red", red)
		}
		// What is gone is still there, as wide as it was.
		choose(t, ctx, "flame-a", "baseline")
		choose(t, ctx, "flame-b", "lock-free")
		browser.Await(t, ctx, frameCalled("sync.(*Mutex).lockSlow")+` !== undefined`)
		// A frame is labelled with as much of its name as fits.
		browser.Await(t, ctx, frameCalled("net/http.serverHandler.ServeHTTP")+`.querySelector('div').textContent === 'http.serverHandler.ServeHTTP'`)
		browser.Await(t, ctx, frameCalled("sync.(*Mutex).lockSlow")+`.querySelector('div').textContent === 'lockSlow'`)
	})

	t.Run("a finding leads to its frame", func(t *testing.T) {
		browser.Ask[bool](t, ctx, `document.querySelectorAll('details.diagnosis').forEach(d => d.open = true), true`)
		const link = `[...document.querySelectorAll('.findings .places a')][0]`
		browser.Ask[bool](t, ctx, link+`.click(), true`)
		browser.Await(t, ctx, `document.getElementById('flame-kind').value === 'mutex' && document.getElementById('flame-a').value === 'baseline' && document.getElementById('flame-b').value === '-'`)
		browser.Await(t, ctx, widthOf("dyno/parts/queue.(*Ring).Put")+` === 1`)
		browser.Await(t, ctx, `(b => b.top >= 0 && b.top < innerHeight)(document.getElementById('flames').getBoundingClientRect())`)
		// It leads there again after the reader went elsewhere.
		browser.Ask[bool](t, ctx, `document.getElementById('flame-reset').click(), true`)
		browser.Ask[bool](t, ctx, link+`.click(), true`)
		browser.Await(t, ctx, widthOf("dyno/parts/queue.(*Ring).Put")+` === 1`)
	})

	t.Run("one that was summed up", func(t *testing.T) {
		browser.Ask[bool](t, ctx, `location.hash = '#flame=baseline,cpu,main.tiny', true`)
		browser.Await(t, ctx, line+` === 'main.tiny is not in this graph: less than 0.1% of it is, in one place.'`)
	})

	t.Run("opened by a link", func(t *testing.T) {
		ctx, w := browser.Open(t, url+"#flame=decode,heap,net%2Fhttp.(*Transport).roundTrip", 1280, 900, "dark")
		browser.Await(t, ctx, widthOf("net/http.(*Transport).roundTrip")+` === 1`)
		if got := browser.Ask[string](t, ctx, `document.getElementById('flame-kind').value + ' ' + document.getElementById('flame-a').value`); got != "heap decode" {
			t.Errorf("the link opened %s", got)
		}
		const fill = `document.querySelector('#flame g.frame:last-child rect').getAttribute('fill')`
		dark := browser.Ask[string](t, ctx, fill)
		browser.Ask[bool](t, ctx, `dispatchEvent(new Event('beforeprint'))`)
		if light := browser.Ask[string](t, ctx, fill); light == dark {
			t.Errorf("on paper the frames keep the dark colour %s", dark)
		}
		// The print shows the graph immediately, as it was zoomed.
		if !browser.Ask[bool](t, ctx, `(g => g.querySelector('rect').getAttribute('width') === g.ownerSVGElement.getAttribute('width') && g.querySelector('div').textContent === 'http.(*Transport).roundTrip')(`+frameCalled("net/http.(*Transport).roundTrip")+`)`) {
			t.Error("paper would get a graph that is still moving")
		}
		w.Check(t, url)
	})

	t.Run("a redraw leaves what the reader chose", func(t *testing.T) {
		browser.Ask[bool](t, ctx, `location.hash = '#flame=baseline,cpu,net%2Fhttp.(*Transport).roundTrip', true`)
		browser.Await(t, ctx, widthOf("net/http.(*Transport).roundTrip")+` === 1`)
		browser.Ask[bool](t, ctx, `(b => { b.value = 'read'; b.dispatchEvent(new Event('input')); return true; })(document.getElementById('flame-search'))`)
		said := browser.Ask[string](t, ctx, `document.getElementById('flame-found').textContent`)
		browser.Ask[bool](t, ctx, `dispatchEvent(new Event('beforeprint')) && dispatchEvent(new Event('afterprint'))`)
		browser.Await(t, ctx, widthOf("net/http.(*Transport).roundTrip")+` === 1`)
		if got := browser.Ask[string](t, ctx, `document.getElementById('flame-search').value + '|' + document.getElementById('flame-found').textContent`); got != "read|"+said {
			t.Errorf("a search for read, which said %q, became %q", said, got)
		}
		browser.Ask[bool](t, ctx, `document.getElementById('flame-reset').click(), true`)
	})

	t.Run("totals are not compared", func(t *testing.T) {
		m := reporttest.Why()
		for _, r := range m.Runs {
			for _, p := range r.FixtureProfiles {
				p.Requests = 0
			}
		}
		url := save(t, m.Report())
		ctx, w := browser.Open(t, url, 1280, 900, "light")
		choose(t, ctx, "flame-a", "baseline")
		choose(t, ctx, "flame-b", "decode")
		if got := browser.Ask[string](t, ctx, `document.getElementById('flame-about').textContent`); !strings.Contains(got, "It is not compared with decode: the requests were not counted.") {
			t.Errorf("about: %s", got)
		}
		w.Check(t, url)
	})

	t.Run("the window grows", func(t *testing.T) {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(700, 900)); err != nil {
			t.Fatal(err)
		}
		browser.Await(t, ctx, `(w => w > 300 && w <= 700)(Number(document.querySelector('#flame svg').getAttribute('width')))`)
	})
	w.Check(t, url)
}

// redness is how much more red than blue a frame is; the scale ends at 255.
func redness(t *testing.T, ctx context.Context, function string) int {
	t.Helper()
	return browser.Ask[int](t, ctx, `(c => c[0] - c[2])(`+frameCalled(function)+`.querySelector('rect').getAttribute('fill').match(/\d+/g).map(Number))`)
}
