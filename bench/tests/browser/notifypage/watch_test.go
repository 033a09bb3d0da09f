package notifypage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/bench/tests/browser"
	"dyno/parts/quicktest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// trouble is a server with a failing subscriber, a throttled one, and dead letters.
func trouble(t *testing.T) *made {
	m := newMade(t)
	bad := subscription("sub_bad", "failing", 812, 341)
	bad["last_status"], bad["last_error"], bad["backlog"], bad["retried"], bad["dead_letters"] = 500, "answered 500: "+hostile, 700, 96, 3
	bad["url"] = "https://bad.example/" + hostile
	bad["types"], bad["retrying"], bad["tried"], bad["next_attempt"] = []string{"order.*", hostile}, 12, 6, time.Now().Add(24*time.Hour+30*time.Minute)
	slow := subscription("sub_slow", "throttled", 150, 42.5)
	slow["last_status"], slow["last_error"] = 429, "answered 429, Retry-After 60 s"
	gone := subscription("sub_gone", "disabled", 0, 0)
	gone["last_status"], gone["last_error"], gone["dead_letters"] = 410, "answered 410 Gone", 1
	m.subscriptions = []object{subscription("sub_fine", "ok", 3, 0.4), slow, bad, gone, subscription("sub_idle", "ok", 0, 0)}
	m.letters = []object{letter("sub_bad", 11), letter("sub_bad", 12), letter("sub_bad", 13), letter("sub_gone", 7)}
	m.letters[0]["reason"] = "answered 500: " + hostile
	return m
}

// row finds a table's row by what its first cell begins with.
func row(table, name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('#%s tbody tr')].find(r => r.firstChild.textContent.startsWith('%s'))`, table, name)
}

func TestPageShowsWhatGoesOn(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	m := trouble(t)
	ctx, w := browser.Open(t, m.origin+"/debug/notify/", 1280, 900, "light")
	browser.Await(t, ctx, `document.querySelectorAll('#queues tbody tr').length === 5 && document.querySelectorAll('#letters tbody tr').length === 4`)
	browser.Await(t, ctx, `(document.querySelector('.figure.accepted .line').getAttribute('d') ?? '').split('L').length > 4`)

	for what, expression := range map[string]string{
		"a rate":                   `/^[\d,]+\/s$/.test(document.querySelector('.figure.accepted .value').textContent)`,
		"what waits":               `document.querySelector('.figure.pending .value').textContent === '996'`,
		"what waits on disk":       `document.querySelector('.figure.pending').textContent.includes('700 on disk only')`,
		"the oldest age":           `document.querySelector('.figure.oldest .value').textContent === '5 min 41 s' && document.querySelector('.figure.oldest .note-line').textContent === 'at sub_bad'`,
		"the connection":           `document.getElementById('connection').textContent === 'live'`,
		"the title":                `document.title === '(1 failing) notifyd'`,
		"the log":                  `document.getElementById('facts').textContent === 'log segment · 1.0 GiB · notices 1,001 to 53,211'`,
		"the workers":              `document.getElementById('workers-now').textContent === '41 of 256 workers busy'`,
		"the oldest on top":        `document.querySelector('#queues tbody tr').dataset.state === 'failing' && document.querySelector('#queues tbody code').textContent === 'sub_bad'`,
		"the order by age":         `[...document.querySelectorAll('#queues tbody code')].map(e => e.textContent).join() === 'sub_bad,sub_slow,sub_fine,sub_gone,sub_idle'`,
		"text of others as text":   `document.querySelector('#queues tbody .error').textContent === ` + fmt.Sprintf("%q", "answered 500: "+hostile),
		"what a retry waits for":   `/^12 keys to retry, 6 attempts so far; next in 1 d$/.test(` + row("queues", "sub_bad") + `.part_.waits.textContent)`,
		"what it wants":            row("queues", "sub_bad") + `.part_.types.textContent === ` + fmt.Sprintf("%q", "order.* "+hostile),
		"no element made of it":    `document.querySelectorAll('script').length === 1 && document.querySelectorAll('img').length === 0`,
		"no note that it may lose": `document.getElementById('lost').hidden`,
	} {
		if !browser.Ask[bool](t, ctx, expression) {
			t.Errorf("the page does not show %s: %s", what, expression)
		}
	}

	m.set(func() { m.stats["lost"] = 3 })
	browser.Await(t, ctx, `document.getElementById('facts').textContent.endsWith('deliveries lost since the log is damaged: 3')`)

	browser.Click(t, ctx, "#state-failing")
	browser.Await(t, ctx, `document.querySelectorAll('#queues tbody tr').length === 1`)
	browser.Ask[bool](t, ctx, `(s => { s.value = 'nothing like it'; s.dispatchEvent(new Event('input')); return true; })(document.getElementById('search'))`)
	browser.Await(t, ctx, `document.getElementById('queues').hidden && document.getElementById('queues-none').textContent === 'No subscription is like that.'`)
	browser.Ask[bool](t, ctx, `(s => { s.value = ''; s.dispatchEvent(new Event('input')); return true; })(document.getElementById('search'))`)
	browser.Click(t, ctx, "#state-all")
	browser.Await(t, ctx, `document.querySelectorAll('#queues tbody tr').length === 5`)

	t.Run("focus stays with a row that moves", func(t *testing.T) {
		browser.Ask[bool](t, ctx, row("queues", "sub_gone")+`.part_.dead.focus(), true`)
		m.set(func() { m.subscriptions[3]["oldest_age_seconds"], m.subscriptions[3]["pending"] = 900.0, 1 })
		browser.Await(t, ctx, `document.querySelector('#queues tbody code').textContent === 'sub_gone'`)
		if !browser.Ask[bool](t, ctx, `document.activeElement === document.querySelector('#queues tbody tr').part_.dead`) {
			t.Error("the focus was lost")
		}
	})
	t.Run("the past under a cursor", func(t *testing.T) {
		if err := chromedp.Do(ctx, chromedp.Focus(chromedp.CSS(".figure.delivered .plot")), chromedp.KeyEvent(kb.PageUp)); err != nil {
			t.Fatal(err)
		}
		browser.Await(t, ctx, `[...document.querySelectorAll('.top-mark')].every(e => e.textContent.endsWith(' ago'))`)
		browser.Picture(t, ctx, "light")
		if err := chromedp.Do(ctx, chromedp.KeyEvent(kb.Escape)); err != nil {
			t.Fatal(err)
		}
		browser.Await(t, ctx, `document.querySelector('.figure.accepted .top-mark').textContent.endsWith('/s')`)
	})
	w.Check(t, m.origin+"/debug/notify/")
}

func TestDeadLettersAreReplayedAndDeleted(t *testing.T) {
	m := trouble(t)
	ctx, w := browser.Open(t, m.origin+"/debug/notify/", 1280, 900, "dark")
	browser.Await(t, ctx, `document.querySelectorAll('#letters tbody tr').length === 4`)

	browser.Ask[bool](t, ctx, row("letters", "n11")+`.part_.payload.click(), true`)
	browser.Await(t, ctx, `(document.querySelector('.detail pre')?.textContent ?? '').includes('12345678901234567890')`)
	if text := browser.Ask[string](t, ctx, `document.querySelector('.detail pre').textContent`); !strings.Contains(text, "<script>alert(1)") {
		t.Errorf("the payload is shown as %s", text)
	}

	browser.Picture(t, ctx, "dark")
	browser.Ask[bool](t, ctx, row("letters", "n11")+`.part_.replay.click(), true`)
	browser.Await(t, ctx, `(r => !r.part_.replaying.hidden && r.part_.replay.disabled)(`+row("letters", "n11")+`)`)
	browser.Await(t, ctx, `document.getElementById('said').textContent === 'n11 is on its way to sub_bad again.'`)
	m.set(func() { m.letters = m.letters[1:] }) // it was delivered
	browser.Await(t, ctx, `document.querySelectorAll('#letters tbody tr').length === 3 && !document.querySelector('.detail')`)

	browser.Ask[bool](t, ctx, row("letters", "n12")+`.part_.remove.click(), true`)
	browser.Await(t, ctx, `document.getElementById('sure').open && document.activeElement.textContent === 'Keep'`)
	browser.Picture(t, ctx, "sure")
	// The next question is put in the same moment, before the page hears that the first was answered.
	m.set(func() { m.failDelete = "the disk is full" })
	browser.Ask[bool](t, ctx, `document.querySelector('#sure button[value=no]').click(), `+row("letters", "n13")+`.part_.remove.click(), true`)
	browser.Await(t, ctx, `document.getElementById('sure').open && document.getElementById('sure-text').textContent.includes('n13')`)
	browser.Click(t, ctx, "#sure button[value=yes]")
	browser.Await(t, ctx, `document.getElementById('said').textContent === 'sub_bad-13 could not be deleted: the disk is full'`)
	if got, want := m.written(), []string{"POST /debug/notify/v1/dead/sub_bad-11/replay ", "DELETE /debug/notify/v1/dead/sub_bad-13 "}; !slices.Equal(got, want) {
		t.Errorf("after a deletion that was called off and one that failed, the server received %q", got)
	}
	m.set(func() { m.failDelete = "" })
	browser.Ask[bool](t, ctx, row("letters", "n12")+`.part_.remove.click(), true`)
	browser.Click(t, ctx, "#sure button[value=yes]")
	browser.Await(t, ctx, `document.querySelectorAll('#letters tbody tr').length === 2`)
	if got := m.written(); got[len(got)-1] != "DELETE /debug/notify/v1/dead/sub_bad-12 " {
		t.Errorf("the server received %q", got)
	}
	w.Check(t, m.origin+"/debug/notify/", "status of 500")
}

func TestAllOfASubscription(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	m := trouble(t)
	m.letters = m.letters[3:]
	for seq := range 130 {
		m.letters = append(m.letters, letter("sub_bad", 100+seq))
	}
	ctx, w := browser.Open(t, m.origin+"/debug/notify/", 1280, 900, "light")
	browser.Await(t, ctx, `document.querySelectorAll('#letters tbody tr').length === 100 && !document.getElementById('next').hidden`)
	browser.Click(t, ctx, "#next")
	browser.Await(t, ctx, `document.querySelectorAll('#letters tbody tr').length === 31 && !document.getElementById('first').hidden`)

	browser.Ask[bool](t, ctx, row("queues", "sub_bad")+`.part_.dead.click(), true`)
	browser.Await(t, ctx, `document.querySelectorAll('#letters tbody tr').length === 100 && document.getElementById('of-id').textContent === 'sub_bad' && document.activeElement.id === 'dead-title'`)
	browser.Click(t, ctx, "#replay-all")
	browser.Await(t, ctx, `document.getElementById('said').textContent === '100 dead letters on the way again.'`)
	var want []string
	for seq := range 100 {
		want = append(want, fmt.Sprintf("POST /debug/notify/v1/dead/sub_bad-%d/replay ", 100+seq))
	}
	if got := m.written(); !slices.Equal(got, want) {
		t.Errorf("replaying all told the server %q", got)
	}
	browser.Click(t, ctx, "#delete-all")
	browser.Await(t, ctx, `document.getElementById('sure-title').textContent === 'Delete 100 dead letters?'`)
	browser.Click(t, ctx, "#sure button[value=yes]")
	browser.Await(t, ctx, `document.getElementById('said').textContent === '100 dead letters deleted.' && document.querySelectorAll('#letters tbody tr').length === 30`)
	browser.Click(t, ctx, "#of-all")
	browser.Await(t, ctx, `document.querySelectorAll('#letters tbody tr').length === 31`)
	w.Check(t, m.origin+"/debug/notify/")
}

func TestReceiversAreTested(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	m := trouble(t)
	ctx, w := browser.Open(t, m.origin+"/debug/notify/", 1280, 900, "dark")
	browser.Await(t, ctx, `document.querySelectorAll('#queues tbody tr').length === 5`)
	for id, want := range map[string]string{
		"sub_bad":  "sub_bad: the test notice failed after 2 ms: connection refused.",
		"sub_fine": "sub_fine took the test notice test_2: answered 204 after 1,500 ms.",
	} {
		browser.Ask[bool](t, ctx, row("queues", id)+`.part_.test.click(), true`)
		browser.Await(t, ctx, fmt.Sprintf(`document.getElementById('tested').textContent === %q && document.getElementById('tested').classList.contains('bad') === %v && !%s.part_.test.disabled`, want, id == "sub_bad", row("queues", id)))
	}
	browser.Picture(t, ctx, "tested")
	if got := m.written(); len(got) != 2 || !slices.Contains(got, "POST /debug/notify/v1/subscriptions/sub_bad/test ") {
		t.Errorf("the server received %q", got)
	}
	w.Check(t, m.origin+"/debug/notify/")
}

func TestWorkersAreSet(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	m := trouble(t)
	ctx, w := browser.Open(t, m.origin+"/debug/notify/", 1280, 900, "light")
	browser.Await(t, ctx, `document.getElementById('workers-wanted').value === '256'`)
	set := func(n string) {
		browser.Ask[bool](t, ctx, `(f => { f.value = `+n+`; f.dispatchEvent(new Event('input')); return true; })(document.getElementById('workers-wanted'))`)
		browser.Click(t, ctx, "#workers button")
	}
	set("64")
	browser.Await(t, ctx, `document.getElementById('workers-now').textContent === '41 of 64 workers busy'`)
	set("5000")
	browser.Await(t, ctx, `document.getElementById('workers-said').textContent === 'workers: give 1 to 4096'`)
	set("0") // the browser itself refuses it
	if got := m.written(); !slices.Equal(got, []string{`POST /debug/notify/workers {"workers":64}`, `POST /debug/notify/workers {"workers":5000}`}) {
		t.Errorf("the server received %q", got)
	}
	w.Check(t, m.origin+"/debug/notify/", "status of 400")
}

func TestServerGoesAndComesBack(t *testing.T) {
	m := trouble(t)
	ctx, w := browser.Open(t, m.origin+"/debug/notify/", 1280, 900, "light")
	browser.Await(t, ctx, `document.querySelectorAll('#queues tbody tr').length === 5`)
	m.set(func() { m.down = true })
	browser.Await(t, ctx, `!document.getElementById('lost').hidden && document.getElementById('connection').textContent === 'no answer'`)
	browser.Picture(t, ctx, "gone")
	m.set(func() {
		m.down, m.subscriptions, m.letters = false, nil, nil
		m.stats["accepted"] = 0
	})
	browser.Await(t, ctx, `document.getElementById('lost').hidden && document.getElementById('connection').textContent === 'live'`)
	browser.Await(t, ctx, `document.getElementById('queues').hidden && document.getElementById('letters').hidden`)
	if text := browser.Ask[string](t, ctx, `document.getElementById('queues-none').textContent`); !strings.Contains(text, "curl "+m.origin+"/debug/notify/v1/subscriptions ") {
		t.Errorf("without subscriptions the page says %q", text)
	}
	browser.Picture(t, ctx, "empty")
	w.Check(t, m.origin+"/debug/notify/", "Failed to load resource: net::")
}

// TestManyOnAPhone opens the page with as many subscriptions as the server sends, on a narrow
// screen.
func TestManyOnAPhone(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	m := trouble(t)
	long := strings.Repeat("a-very-long-name-", 12)
	for i := range 10_000 {
		m.subscriptions = append(m.subscriptions, subscription(fmt.Sprintf("sub_%05d", i), "ok", 5, float64(i)/1000))
	}
	m.subscriptions[0]["url"], m.letters[0]["reason"], m.letters[0]["subscription"] = "https://"+long, long, long
	ctx, w := browser.Open(t, m.origin+"/debug/notify/", 375, 800, "dark")
	pages := func(text string) {
		t.Helper()
		browser.Await(t, ctx, fmt.Sprintf(`document.getElementById('queues-more').textContent === %q`, text))
	}
	pages("1 to 200 of 10,005")
	browser.Picture(t, ctx, "phone")
	browser.Fits(t, ctx, 375)
	browser.Click(t, ctx, "#queues-next")
	pages("201 to 400 of 10,005")
	find := func(text string) {
		browser.Ask[bool](t, ctx, fmt.Sprintf(`(s => { s.value = %q; s.dispatchEvent(new Event('input')); return true; })(document.getElementById('search'))`, text))
	}
	find("sub_000") // among the youngest
	browser.Await(t, ctx, `document.querySelectorAll('#queues tbody tr').length === 100 && document.getElementById('queues-pages').hidden`)
	if top := browser.Ask[string](t, ctx, `document.querySelector('#queues tbody code').textContent`); top != "sub_00099" {
		t.Errorf("%s is on top", top)
	}
	browser.Picture(t, ctx, "phone-found")
	find("")
	pages("1 to 200 of 10,005")
	browser.Click(t, ctx, "#queues-next")
	pages("201 to 400 of 10,005")
	browser.Click(t, ctx, "#queues-before")
	pages("1 to 200 of 10,005")
	w.Check(t, m.origin+"/debug/notify/")
}
