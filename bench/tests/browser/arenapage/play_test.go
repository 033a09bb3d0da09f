package arenapage_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"dyno/bench/tests/browser"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/proxy"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/impair"
	"dyno/services/arena/wire"
)

const ready = `window.arena?.ready`

// figures are what the page says of itself.
type figures struct {
	MaxRemoteStep, Corrections, DelayMs, LateStates, WrongHashes float64
}

func stats(t *testing.T, p player) figures {
	t.Helper()
	return browser.Ask[figures](t, p.tab, `(s => ({maxRemoteStep: s.maxRemoteStep, corrections: s.corrections, delayMs: s.delayMs, lateStates: s.lateStates, wrongHashes: s.wrongHashes}))(arena.stats)`)
}

// Two pages and a client of the test see the same state at the same tick, and the server has it, in
// bits and in Protobuf.
func TestPagesAgree(t *testing.T) {
	for _, state := range []string{"predicted", "shared"} {
		if state == "shared" && quicktest.On() {
			continue
		}
		t.Run(state, func(t *testing.T) { agree(t, start(t, "--set=state="+state)) })
	}
}

func agree(t *testing.T, s *server) {
	room := s.Room(`{"bots":3}`)
	one := open(t, join(s.addr, room, "Ada"), desktop)
	two := one.another(t, join(s.addr, room, "Bo"))
	three := s.Join(&wire.Join{Room: room, Spectate: true})
	for range 3 {
		state := three.Next()
		known := fmt.Sprintf(`arena.hashAt(%d) !== undefined`, state.Tick)
		for _, p := range []player{one, two} {
			if first := browser.Ask[uint32](t, p.tab, `arena.tick`); first > state.Tick {
				continue // it came later
			}
			browser.Await(t, p.tab, known)
			if got, want := browser.Ask[string](t, p.tab, fmt.Sprintf(`arena.hashAt(%d)`, state.Tick)), fmt.Sprintf("%016x", state.Hash); got != want {
				t.Errorf("tick %d: a page has the hash %s, the server %s", state.Tick, got, want)
			}
		}
	}
	// Each has what the other has, too.
	tick := browser.Ask[uint32](t, one.tab, `arena.tick`)
	browser.Await(t, two.tab, fmt.Sprintf(`arena.tick > %d`, tick))
	if a, b := browser.Ask[string](t, one.tab, fmt.Sprintf(`arena.hashAt(%d)`, tick)), browser.Ask[string](t, two.tab, fmt.Sprintf(`arena.hashAt(%d)`, tick)); a != b || len(a) != 16 {
		t.Errorf("tick %d: %q and %q", tick, a, b)
	}
	browser.Await(t, one.tab, `document.getElementById('scores').textContent.includes('Bo')`)
	if got := stats(t, one); got.WrongHashes != 0 {
		t.Errorf("%+v", got)
	}
	one.check(t, s.addr)
}

// held presses a key of the page, counts the frames until the player is drawn elsewhere, and
// releases it.
const held = `new Promise(done => {
	const before = arena.me.x, key = code => ({ code, bubbles: true });
	let frames = 0;
	document.dispatchEvent(new KeyboardEvent('keydown', key(%q)));
	const look = () => {
		frames++;
		if (arena.me.x === before && frames < 120) return requestAnimationFrame(look);
		document.dispatchEvent(new KeyboardEvent('keyup', key(%q)));
		done([frames, arena.stats.inputToDraw, (arena.me.x - before)]);
	};
	requestAnimationFrame(look);
})`

// The own player moves in the frame after a key was pressed, however far the server is; and it ends
// where the server has it.
func TestMovesWithoutDelay(t *testing.T) {
	s := start(t)
	room := s.Room(`{}`)
	p := open(t, join(far(t, s.addr, impair.Options{Delay: 75 * time.Millisecond}), room, "Ada"), desktop)
	browser.Await(t, p.tab, `arena.stats.rttMs >= 150`)
	// Away from the edge, where a key moves nothing.
	away := "KeyD"
	if browser.Ask[int](t, p.tab, `arena.me.x`) > 16000 {
		away = "KeyA"
	}
	for range 5 {
		got := browser.Ask[[3]float64](t, p.tab, fmt.Sprintf(held, away, away))
		if got[0] > 2 || got[1] < 1 || got[1] > 2 || (got[2] > 0) != (away == "KeyD") {
			t.Errorf("after %v frames, by the page's count %v, the player is drawn moved by %v", got[0], got[1], got[2])
		}
		settled(t, s, room, p)
	}
	// A tap as short as a key can be moves it by one command at least.
	before := browser.Ask[int](t, p.tab, `arena.me.x`)
	if err := chromedp.Do(p.tab, chromedp.KeyEvent(strings.ToLower(away[3:]))); err != nil {
		t.Fatal(err)
	}
	browser.Await(t, p.tab, fmt.Sprintf(`Math.abs(arena.me.x - %d) >= 64`, before))
	settled(t, s, room, p)
	if got := stats(t, p); got.WrongHashes != 0 {
		t.Errorf("%+v", got)
	}
	p.check(t, s.addr)
}

// settled awaits that the page has its player where the server has it.
func settled(t *testing.T, s *server, room string, p player) {
	t.Helper()
	id := browser.Ask[uint32](t, p.tab, `arena.id`)
	servicetest.Await(t, func() string { return "the page to have its player where the server has it" }, func() bool {
		now := arenatest.Find(s.state(room), id)
		me := browser.Ask[[2]int32](t, p.tab, `[arena.me.x, arena.me.y]`)
		return now != nil && me == [2]int32{now.X, now.Y}
	})
}

// Others never jump, however unevenly their states come.
func TestRemotesDoNotJump(t *testing.T) {
	quicktest.Skip(t, "watches others in a browser for seconds")
	s := start(t)
	room := s.Room(`{"bots":30}`)
	p := open(t, join(far(t, s.addr, impair.Options{Delay: 100 * time.Millisecond, Jitter: 30 * time.Millisecond}), room, "Ada"), desktop)
	tick := browser.Ask[int](t, p.tab, `arena.tick`)
	browser.Await(t, p.tab, fmt.Sprintf(`arena.tick > %d`, tick+150))
	got := stats(t, p)
	t.Logf("%+v", got)
	if got.MaxRemoteStep > 2 || got.MaxRemoteStep < 0.5 {
		t.Errorf("the fastest remote step is %v times the top speed", got.MaxRemoteStep)
	}
	p.check(t, s.addr)
}

// frames keeps, of each frame, the tick that it draws and the time of the machine's clock.
const frames = `(() => {
	window.frames_ = [];
	const look = now => {
		frames_.push([arena.drawnTick, arena.tick, now]);
		if (frames_.length > 5000) frames_.shift();
		requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
	return true;
})()`

// after returns the first frame that draws another tick than the frame before, after a stall of the
// picture of three seconds.
const after = `(() => {
	for (let i = frames_.length - 1, last = i; i > 0; i--) {
		if (frames_[i][0] === frames_[i - 1][0]) continue;
		if (last - i >= 0 && i > 1) {
			let j = i - 1;
			while (j > 0 && frames_[j][0] === frames_[j - 1][0]) j--;
			if (frames_[i][2] - frames_[j][2] > 3000) return frames_[i];
		}
	}
	return null;
})()`

// After a stall of 5 s, the first picture is of the newest state that the page has: what came
// meanwhile is not played. A page or server that gets no CPU may have less than the server by then.
func TestStallEndsWithTheNewest(t *testing.T) {
	quicktest.Skip(t, "a stall of 5 s")
	s := start(t)
	room := s.Room(`{"bots":30}`)
	stall := impair.Stall{At: 4 * time.Second, For: 5 * time.Second} // of each connection
	p := open(t, join(far(t, s.addr, impair.Options{Stall: stall}), room, "Ada"), desktop)
	browser.Ask[bool](t, p.tab, frames)
	browser.Await(t, p.tab, `/^The server has been silent for [3-9]/.test(document.getElementById('banner-text').textContent)`)
	browser.Picture(t, p.tab, "silent")
	browser.Await(t, p.tab, after+` !== null`)
	first := browser.Ask[[3]float64](t, p.tab, after)
	t.Logf("the first frame draws tick %.2f, and the page has %v", first[0], first[1])
	if first[0] < first[1]-1 {
		t.Errorf("the first frame after the stall draws tick %.2f, and the page has %v", first[0], first[1])
	}
	watch := s.Join(&wire.Join{Room: room, Spectate: true})
	browser.Await(t, p.tab, fmt.Sprintf(`arena.drawnTick >= %d`, watch.Next().Tick))
	browser.Await(t, p.tab, `document.getElementById('banner').hidden`)
	p.check(t, s.addr)
}

// A reload takes the player up again; leaving gives it up.
func TestReloadResumes(t *testing.T) {
	s := start(t)
	room := s.Room(`{"bots":4,"capacity":6}`)
	p := open(t, join(s.addr, room, "Ada"), desktop)
	id := browser.Ask[uint32](t, p.tab, `arena.id`)
	for range 2 { // the token of the second time is the first's
		before := arenatest.Find(s.state(room), id)
		browser.Ask[bool](t, p.tab, `window.old_ = true`)
		if err := chromedp.Do(p.tab, chromedp.Reload()); err != nil {
			t.Fatal(err)
		}
		browser.Await(t, p.tab, `!window.old_ && `+ready)
		if got := browser.Ask[uint32](t, p.tab, `arena.id`); got != id {
			t.Fatalf("after a reload it is player %d, not %d", got, id)
		}
		now := arenatest.Find(s.state(room), id)
		if got := browser.Ask[uint32](t, p.tab, `arena.me.score`); got != now.Score || now.Hp == before.Hp && (now.X != before.X || now.Y != before.Y) {
			t.Errorf("it is %v with the score %d, and was %v", now, got, before)
		}
	}
	// A copy of the tab is another player, and leaves this one alone.
	kept := browser.Ask[string](t, p.tab, `sessionStorage.getItem('arena.resume')`)
	copied := p.another(t, "http://"+s.addr+"/")
	browser.Ask[bool](t, copied.tab, fmt.Sprintf(`sessionStorage.setItem('arena.resume', %q), location = %q, true`, kept, join(s.addr, room, "Ada")))
	browser.Await(t, copied.tab, ready)
	if got := browser.Ask[uint32](t, copied.tab, `arena.id`); got == id {
		t.Error("a copy of the tab took the player")
	}
	browser.Click(t, copied.tab, "#leave")
	browser.Await(t, copied.tab, `document.body.dataset.view === 'lobby' && !location.search && !sessionStorage.getItem('arena.resume')`)
	if got := browser.Ask[uint32](t, p.tab, `arena.id`); got != id {
		t.Errorf("it became player %d", got)
	}
	// A token that is of no use: a new player.
	browser.Ask[bool](t, copied.tab, fmt.Sprintf(`sessionStorage.setItem('arena.resume', JSON.stringify({room: %q, name: 'Bo', token: '%s.none'})), location = %q, true`, room, room, join(s.addr, room, "Bo")))
	browser.Await(t, copied.tab, ready)
	p.check(t, s.addr)
}

// What is wrong is said, with the way out.
func TestTroubles(t *testing.T) {
	s := start(t)
	between := proxy.New(t, s.addr)
	trouble := func(text string) string {
		return fmt.Sprintf(`document.body.dataset.view === 'lobby' && !document.getElementById('trouble').hidden && document.getElementById('trouble').textContent.includes(%q)`, text)
	}
	p := visit(t, join(between.Addr(), "none", "Ada"), phone)
	browser.Await(t, p.tab, trouble("no longer there"))

	full := s.Room(`{"capacity":1}`)
	s.Join(&wire.Join{Room: full})
	browser.Visit(t, p.tab, join(between.Addr(), full, "Ada"))
	browser.Await(t, p.tab, trouble("full")+` && [...document.querySelectorAll('#rooms button')].some(b => b.textContent === 'Full' && b.disabled)`)
	browser.Picture(t, p.tab, "full")
	browser.Fits(t, p.tab, phone.width)
	browser.Ask[bool](t, p.tab, fmt.Sprintf(`document.getElementById('Watch %s').click(), true`, full))
	browser.Await(t, p.tab, ready+` && arena.id === 0 && location.search.includes('spectate')`)

	// A lost connection comes back on its own, as the same player.
	room := s.Room(`{"bots":3}`)
	browser.Visit(t, p.tab, join(between.Addr(), room, "Ada"))
	browser.Await(t, p.tab, ready)
	id := browser.Ask[uint32](t, p.tab, `arena.id`)
	between.Refuse()
	browser.Await(t, p.tab, `document.getElementById('banner-text').textContent.includes('connection is lost')`)
	browser.Picture(t, p.tab, "lost")
	tick := browser.Ask[int](t, p.tab, `arena.tick`)
	between.Pass()
	browser.Await(t, p.tab, fmt.Sprintf(`arena.ready && arena.tick > %d && document.getElementById('banner').hidden`, tick))
	if got := browser.Ask[uint32](t, p.tab, `arena.id`); got != id {
		t.Errorf("after a lost connection it is player %d, not %d", got, id)
	}

	// Out of it, while the server is away.
	between.Refuse()
	browser.Await(t, p.tab, `!document.getElementById('banner').hidden`)
	browser.Click(t, p.tab, "#banner-leave")
	browser.Await(t, p.tab, `document.body.dataset.view === 'lobby' && !document.getElementById('away').hidden && document.getElementById('away').textContent.includes('does not answer')`)
	browser.Picture(t, p.tab, "away")
	between.Pass()
	browser.Await(t, p.tab, `document.getElementById('away').hidden && document.querySelectorAll('#rooms li').length >= 2`)
	browser.Click(t, p.tab, "#create button")
	browser.Await(t, p.tab, ready+` && arena.room !== ""`)
	p.check(t, between.Addr(), "net::ERR", "Failed to load resource", "WebSocket connection to")
}

// A server that asks for tokens lets a player in who has one.
func TestToken(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	key := filepath.Join(t.TempDir(), "arena.key")
	s := start(t, "--auth-key="+key)
	token, err := exec.CommandContext(t.Context(), builds.Program(t, "dyno/services/cmd/arenad"), "token", "--auth-key="+key, "--name=Bo").Output()
	if err != nil {
		t.Fatal(err)
	}
	s.Token = strings.TrimSpace(string(token))
	room := s.Room(`{}`)
	p := visit(t, join(s.addr, room, "Ada"), phone)
	browser.Await(t, p.tab, `document.body.dataset.view === 'lobby' && document.getElementById('trouble').textContent.includes('token') && !document.getElementById('token-row').hidden`)
	browser.Picture(t, p.tab, "token")
	browser.Fits(t, p.tab, phone.width)
	browser.Await(t, p.tab, fmt.Sprintf(`document.getElementById('Join %s') !== null`, room))
	browser.Ask[bool](t, p.tab, fmt.Sprintf(`document.getElementById('token').value = %q, document.getElementById('Join %s').click(), true`, s.Token, room))
	browser.Await(t, p.tab, ready+` && document.getElementById('scores').textContent.includes('Bo')`)
	p.check(t, s.addr)

	// Making a room asks for one as well.
	other := visit(t, "http://"+s.addr+"/", desktop)
	browser.Click(t, other.tab, "#create button")
	browser.Await(t, other.tab, `document.getElementById('trouble').textContent.includes('token') && !document.getElementById('token-row').hidden`)
	browser.Ask[bool](t, other.tab, fmt.Sprintf(`document.getElementById('token').value = %q, true`, s.Token))
	browser.Click(t, other.tab, "#create button")
	browser.Await(t, other.tab, ready+` && arena.room !== ""`)
	other.check(t, s.addr, "Failed to load resource")
}

// deaf has the page's next sockets that come to send receive nothing, and end after a moment: each carries
// a Join to the server and no Welcome back.
const deaf = `(() => {
	const real = WebSocket;
	window.lost_ = 0;
	window.WebSocket = class extends real {
		send(b) {
			if (this.deaf === undefined && (this.deaf = lost_++ < %d)) setTimeout(() => this.close(), 700);
			super.send(b);
			if (this.deaf) this.sent = (this.sent ?? 0) + 1, window.said_ = Math.max(window.said_ ?? 0, this.sent);
		}
		set onmessage(f) { super.onmessage = m => { if (!this.deaf) f(m); }; }
	};
	return true;
})()`

// A page whose Welcomes are lost stays the same player, also when it is loaded again meanwhile, and
// says nothing by which the server would take its token for used.
func TestLostWelcomes(t *testing.T) {
	s := start(t)
	between := proxy.New(t, s.addr)
	p := open(t, join(between.Addr(), s.Room(`{}`), "Ada"), desktop)
	id := browser.Ask[uint32](t, p.tab, `arena.id`)
	lose := func(n int) {
		browser.Ask[bool](t, p.tab, fmt.Sprintf(deaf, n))
		between.Refuse()
		browser.Await(t, p.tab, `document.getElementById('banner-text').textContent.includes('connection is lost')`)
		between.Pass()
	}
	back := func(when string) {
		browser.Await(t, p.tab, ready+` && document.getElementById('banner').hidden`)
		if got := browser.Ask[uint32](t, p.tab, `arena.id`); got != id {
			t.Fatalf("%s it is player %d, not %d", when, got, id)
		}
	}
	lose(2)
	browser.Await(t, p.tab, `lost_ > 2`)
	back("after two lost Welcomes")
	if n := browser.Ask[int](t, p.tab, `said_`); n != 1 {
		t.Errorf("%d messages were sent before a Welcome, a Join among them", n)
	}
	lose(1000)
	browser.Await(t, p.tab, `lost_ > 1`)
	browser.Visit(t, p.tab, join(between.Addr(), browser.Ask[string](t, p.tab, `arena.room`), "Ada"))
	back("loaded again before it had a Welcome")
	p.check(t, between.Addr(), "net::ERR", "Failed to load resource", "WebSocket connection to")
}

// state is the state of a room as the debug address has it.
func (s *server) state(room string) *wire.Snapshot {
	s.T.Helper()
	var out struct {
		Tick     uint32
		Entities []*wire.Entity
	}
	debug := arenatest.Client{T: s.T, Program: arenatest.Program{URL: s.Program.Debug}}
	if status := debug.Call("GET", "/debug/arena/rooms/"+room, "", &out); status != http.StatusOK {
		s.T.Fatalf("the debug address answered %d of room %s", status, room)
	}
	return &wire.Snapshot{Tick: out.Tick, Entities: out.Entities}
}
