package arenapage_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"dyno/bench/tests/browser"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/services/arena/arenatest"
)

// touch puts thumbs on points of the screen, moves them there or takes them away.
func touch(t *testing.T, p player, kind input.DispatchTouchEventType, points ...[2]float64) {
	t.Helper()
	params := input.DispatchTouchEventParams{Type: kind, TouchPoints: []*input.TouchPoint{}}
	for id, at := range points {
		params.TouchPoints = append(params.TouchPoints, &input.TouchPoint{X: at[0], Y: at[1], ID: new(float64(id))})
	}
	err := chromedp.Do(p.tab, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.DispatchTouchEvent, params)
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
}

// aims awaits that the server has a player aim in a direction, in 1/256 of a turn.
func aims(t *testing.T, s *server, room string, id, dir uint32) {
	t.Helper()
	servicetest.Await(t, func() string { return fmt.Sprintf("player %d to aim at %d", id, dir) }, func() bool {
		e := arenatest.Find(s.state(room), id)
		return e != nil && e.Dir == dir
	})
}

// Two thumbs move and aim; so do a mouse, and keys alone.
func TestControls(t *testing.T) {
	s := start(t)
	room := s.Room(`{}`)
	p := open(t, join(s.addr, room, "Ada"), phone)
	id := browser.Ask[uint32](t, p.tab, `arena.id`)
	x := browser.Ask[float64](t, p.tab, `arena.me.x`)
	way := 40.0
	if x > 16000 {
		way = -40
	}
	touch(t, p, input.DispatchTouchEventTypeTouchStart, [2]float64{90, 700}, [2]float64{300, 700})
	touch(t, p, input.DispatchTouchEventTypeTouchMove, [2]float64{90 + way, 700}, [2]float64{300, 640})
	browser.Await(t, p.tab, fmt.Sprintf(`(arena.me.x - %v) * %v > 1000`, x, way))
	aims(t, s, room, id, 192)
	browser.Picture(t, p.tab, "thumbs")
	touch(t, p, input.DispatchTouchEventTypeTouchEnd)
	settled(t, s, room, p)

	// The own player is in the middle.
	if err := chromedp.Do(p.tab, chromedp.MouseClickXY(195+100, 422)); err != nil {
		t.Fatal(err)
	}
	aims(t, s, room, id, 0)
	p.check(t, s.addr)
}

// What people look at: BROWSER_PICTURES keeps it.
func TestLooks(t *testing.T) {
	quicktest.Skip(t, "takes pictures")
	s := start(t)
	room := s.Room(`{"bots":12}`)
	looks := map[string]screen{"desktop-light": desktop, "phone-dark": phone}
	shot := `true`
	if os.Getenv("BROWSER_PICTURES") != "" {
		looks["desktop-dark"], looks["phone-light"] = screen{1280, 800, "dark"}, screen{390, 844, "light"}
		shot = `document.querySelectorAll('#feed li').length > 1`
	}
	for name, look := range looks {
		p := visit(t, "http://"+s.addr+"/", look)
		browser.Await(t, p.tab, `document.querySelectorAll('#rooms li').length > 0`)
		browser.Picture(t, p.tab, name+"-lobby")
		browser.Fits(t, p.tab, look.width)
		browser.Visit(t, p.tab, join(s.addr, room, "Ada"))
		browser.Await(t, p.tab, ready)
		if err := chromedp.Do(p.tab, chromedp.KeyEvent("n")); err != nil {
			t.Fatal(err)
		}
		browser.Await(t, p.tab, `!document.getElementById('net').hidden && document.querySelectorAll('#figures dd').length > 5 && `+shot)
		browser.Picture(t, p.tab, name)
		browser.Fits(t, p.tab, look.width)
		p.check(t, s.addr)
	}
}
