//go:build linux

package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/parts/refusal"
	"dyno/parts/wal"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
)

// oneThen posts a notice, and others that wait together while the log syncs the first.
func (s *fronted) oneThen(t *testing.T, g *gated, one string, others ...string) (first, rest func() map[int]int) {
	const last = "Connection: close\r\n"
	first = s.posts(t, postOf(last, one))
	<-g.syncs
	var requests []string
	for _, body := range others {
		requests = append(requests, postOf(last, body))
	}
	rest = s.posts(t, requests...)
	for s.queued() < len(others) {
		time.Sleep(time.Millisecond) // until all were read
	}
	return first, rest
}

const unnamed = `{"key":"k","type":"t"}`

func (s *fronted) oneThenTen(t *testing.T, g *gated) (first, rest func() map[int]int) {
	return s.oneThen(t, g, unnamed, slices.Repeat([]string{unnamed}, 10)...)
}

func (g *gated) fail(err error) { g.fails.Store(&err) }

// What is refused together is accepted as far as each for itself may be, and counted once.
func TestFrontRefusesAsFewAsCanBe(t *testing.T) {
	s, g := held(t, func(c *Config) { c.MaxPending = 4 })
	url := "http://192.0.2.1/hook" // which never answers
	if _, _, err := s.d.table.Subscribe(dispatch.SubscriptionRequest{URL: &url}); err != nil {
		t.Fatal(err)
	}
	first, rest := s.oneThenTen(t, g)
	close(g.tokens)
	if a, b := first(), rest(); a[202] != 1 || b[202] != 3 || b[429] != 7 {
		t.Errorf("statuses %v, then %v", a, b)
	}
	if syncs := 1 + len(g.syncs); syncs != 2 {
		t.Errorf("%d syncs", syncs)
	}
	if pending := s.d.deliverer.Pending.Load(); pending != 4 {
		t.Errorf("%d deliveries are pending", pending)
	}
	for s := range s.d.table.Statuses() {
		if s.Counts.Accepted != 4 || s.Counts.Refused != 7 {
			t.Errorf("counts %+v", s.Counts)
		}
	}
}

// A full disk is asked once for all that is stored together.
func TestFrontDiskFull(t *testing.T) {
	s, g := held(t, nil)
	first, rest := s.oneThenTen(t, g)
	g.fail(wal.ErrFull)
	close(g.tokens)
	if a, b := first(), rest(); a[202] != 1 || b[507] != 10 {
		t.Errorf("statuses %v, then %v", a, b)
	}
	if got := g.vain.Load(); got != 1 {
		t.Errorf("%d writes", got)
	}
}

// A notice whose id stands for another costs those that came with it nothing: they share one append.
func TestFrontConflictsCostOthersNothing(t *testing.T) {
	s, g := held(t, nil)
	others := slices.Repeat([]string{unnamed}, 60)
	others = slices.Insert(others, 20, `{"id":"used","key":"k","type":"t","payload":1}`)
	others = slices.Insert(others, 40, `{"id":"twin","key":"k","type":"t"}`, `{"id":"twin","key":"k","type":"t"}`)
	others = append(others, `{"id":"odd","key":"k","type":"t","payload":1}`, `{"id":"odd","key":"k","type":"t","payload":2}`)
	first, rest := s.oneThen(t, g, `{"id":"used","key":"k","type":"t"}`, others...)
	close(g.tokens)
	if a, b := first(), rest(); a[202] != 1 || b[202] != 62 || b[200] != 1 || b[409] != 2 {
		t.Errorf("statuses %v, then %v", a, b)
	}
	if syncs := 1 + len(g.syncs); syncs != 2 {
		t.Errorf("%d syncs", syncs)
	}
	if _, next := s.d.store.Notices.Bounds(); next != 1+1+62 {
		t.Errorf("%d notices are stored", next-1)
	}
}

// What is too large for one append is stored in several, without the notice that is too large alone.
// One that shares its id and nothing else has to come again.
func TestAcceptEachInParts(t *testing.T) {
	s, g := held(t, nil)
	close(g.tokens)
	g.admit = func(batch [][]byte) error {
		if len(batch) > 4 || slices.ContainsFunc(batch, func(record []byte) bool { return bytes.Contains(record, []byte("large")) }) {
			return wal.ErrTooLarge
		}
		return nil
	}
	var notices []*notice.Notice
	for i := range 10 {
		notices = append(notices, aNotice(fmt.Sprint(i), "k", "t"))
	}
	notices[3].Payload, notices[8].ID, notices[9].ID = []byte(`"large"`), "3", "4"
	receipts, refused, failed := s.d.acceptor.AcceptEach(t.Context(), notices)
	if failed != nil {
		t.Error(failed)
	}
	last := uint64(0)
	for i, n := range notices {
		if want := map[int]int{3: 413, 8: 503}[i]; want != 0 {
			if r := (*refusal.Error)(nil); !errors.As(refused[n], &r) || r.Status != want {
				t.Errorf("%d: %v, want %d", i, refused[n], want)
			}
			continue
		}
		switch r := receipts[i]; {
		case refused[n] != nil:
			t.Errorf("%d: %v", i, refused[n])
		case i == 9:
			if !r.Duplicate || r.Seq != receipts[4].Seq {
				t.Errorf("the repeated one: %+v", r)
			}
		case r.Duplicate || r.Seq <= last:
			t.Errorf("%d: %+v behind %d", i, r, last)
		default:
			last = r.Seq
		}
	}
	if _, refused, _ := s.d.acceptor.AcceptEach(t.Context(), notices[8:9]); refused != nil {
		t.Errorf("when it comes again: %v", refused)
	}
}

// A log that cannot be written is tried once, for all that wait then: also for those that are more
// than are stored together.
func TestFrontAsksAFailingLogOnce(t *testing.T) {
	s, g := held(t, nil)
	large := strings.Replace(aBody, "<b>", strings.Repeat("x", 60<<10), 1)
	var others []string
	for i := range 40 { // three batches
		others = append(others, strings.Replace(large, "ID", fmt.Sprint(i), 1))
	}
	first, rest := s.oneThen(t, g, unnamed, others...)
	g.fail(errors.New("no server answers"))
	close(g.tokens)
	if a, b := first(), rest(); a[202] != 1 || b[503] != len(others) {
		t.Errorf("statuses %v, then %v", a, b)
	}
	if got := g.vain.Load(); got != 1 {
		t.Errorf("%d writes", got)
	}
}

// A stop answers what has arrived.
func TestFrontDrain(t *testing.T) {
	s, g := held(t, nil)
	done := s.posts(t, postOf("", `{"key":"k","type":"t"}`))
	<-g.syncs
	stopped := make(chan error)
	go func() { s.front.LameDuck(); stopped <- s.front.Drain(t.Context()) }()
	close(g.tokens)
	if got := done(); got[202] != 1 {
		t.Errorf("statuses %v", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// What is cut off when the time to stop is over is not stored: its clients will send it again.
func TestFrontDrainCutsOff(t *testing.T) {
	s, g := held(t, func(c *Config) { c.MaxPending = 1 })
	url := "http://192.0.2.1/hook" // which never answers
	if _, _, err := s.d.table.Subscribe(dispatch.SubscriptionRequest{URL: &url, Types: &[]string{"owed"}}); err != nil {
		t.Fatal(err)
	}
	conns := make([]net.Conn, 11)
	for i := range conns {
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns[i] = conn
	}
	io.WriteString(conns[0], postOf("", `{"key":"k","type":"owed"}`))
	<-g.syncs
	for _, conn := range conns[1:] {
		io.WriteString(conn, postOf("", unnamed))
	}
	for s.queued() < 10 {
		time.Sleep(time.Millisecond) // until all were read
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- s.front.Drain(ctx) }()
	cancel()
	for _, conn := range conns {
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes came", n)
		}
	}
	for { // another that owes is refused with 429 before, and with 503 after the stop
		_, _, err := s.d.acceptor.Accept(t.Context(), []*notice.Notice{aNotice("probe", "k", "owed")})
		if r := (*refusal.Error)(nil); errors.As(err, &r) && r.Status == 503 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	close(g.tokens)
	if err := <-stopped; err == nil || !strings.Contains(err.Error(), "11 requests") {
		t.Error(err)
	}
	if _, next := s.d.store.Notices.Bounds(); next != 2 {
		t.Errorf("%d notices are stored, want 1", next-1)
	}
}
