package arenapage_test

import (
	"testing"
	"time"

	"dyno/tests/browser"
)

func TestLooks(t *testing.T) {
	s := start(t)
	room := s.Room(`{"bots":12}`)
	for _, c := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"desktop-light", 1280, 800, "light"}, {"desktop-dark", 1280, 800, "dark"}, {"phone-light", 390, 844, "light"}, {"phone-dark", 390, 844, "dark"}} {
		ctx, w := browser.Open(t, "http://"+s.addr+"/", c.width, c.height, c.scheme)
		browser.Await(t, ctx, `document.querySelectorAll('#rooms li').length > 0`)
		browser.Picture(t, ctx, c.name+"-lobby")
		browser.Visit(t, ctx, join(s.addr, room, "Ada"))
		browser.Await(t, ctx, `window.arena?.ready`)
		browser.Click(t, ctx, "#net-button")
		time.Sleep(4 * time.Second)
		t.Log(browser.Ask[string](t, ctx, `JSON.stringify({...arena.stats, rttMs: arena.stats.rttMs, me: arena.me, s: [arena.stats.corrections, arena.stats.maxRemoteStep, arena.stats.delayMs, arena.stats.lateStates, arena.stats.wrongHashes], f: document.getElementById('figures').textContent})`))
		browser.Picture(t, ctx, c.name+"-game")
		w.Check(t, "http://"+s.addr)
	}
}
