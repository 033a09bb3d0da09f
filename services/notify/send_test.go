package notify

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "-5": 0, "soon": 0, "1.5": 0,
		"99999999999999999999":          0, // no number that fits
		"9223372036854775807":           time.Hour,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT": 0,
		"Sun, 01 Mar 2099 12:00:00 GMT": time.Hour,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestPublic(t *testing.T) {
	for ip, want := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "10.0.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "169.254.169.254": false,
		"0.1.2.3": false, "100.64.0.1": false, "198.18.0.1": false, "255.255.255.255": false, "224.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fc00::1": false, "::ffff:10.0.0.1": false, "64:ff9b::a00:1": false, "2002:a00:1::": false,
	} {
		if got := public(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: public %v", ip, got)
		}
	}
}

func newTestSubscription(t testing.TB) *subscription {
	sub, err := newSubscription(subscriptionRequest{URL: "http://example.com:8080/hook?a=b", Secret: newSecret(), Batch: 100})
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func newTestParcel(sub *subscription, e encoder, n int) *parcel {
	p := &parcel{sub: sub}
	for i := range n {
		notice := &notice{ID: fmt.Sprintf("n-%d", i), Key: "k\"<", Type: "t", Payload: []byte(`{"a" : "<b>"}`)}
		e.prepare(notice)
		p.notices = append(p.notices, notice)
	}
	return p
}

// Both encodings make the same request, through reuse, and the Standard Webhooks library accepts it.
func TestEncodingsAgree(t *testing.T) {
	sub := newTestSubscription(t)
	fast := newPrepared()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "notices")
		now := time.Now().Add(time.Duration(rapid.IntRange(-100, 100).Draw(t, "seconds")) * time.Second)
		again := rapid.Bool().Draw(t, "again")
		want := readRequest(t, perAttempt{}, newTestParcel(sub, perAttempt{}, n), now, again)
		got := readRequest(t, fast, newTestParcel(sub, fast, n), now, again)
		if want != got {
			t.Fatalf("requests differ: %s and %s", want, got)
		}
	})
}

// readRequest makes a request, verifies and reads it as a transport does (again, after a connection that
// was found closed), and gives it back.
func readRequest(t *rapid.T, e encoder, p *parcel, now time.Time, again bool) (text string) {
	req, done, err := e.request(context.Background(), p, now)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	if req.ContentLength != int64(len(body)) {
		t.Fatalf("Content-Length %d of %d bytes", req.ContentLength, len(body))
	}
	if again {
		second, err := req.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(second); err != nil || string(text) != string(body) {
			t.Fatalf("read again: %q, not %q", text, body)
		}
	}
	if err := p.sub.webhook.Verify(body, req.Header); err != nil {
		t.Fatal(err)
	}
	keys := slices.Sorted(maps.Keys(req.Header))
	text = req.Method + " " + req.URL.String() + " " + req.Host + "\n"
	for _, k := range keys {
		text += k + ": " + strings.Join(req.Header[k], "|") + "\n"
	}
	req.Body.Close()
	req.Body.Close()
	done()
	return text + string(body)
}

// A draft comes back only when the answer was read and the body closed: the transport may still be
// sending when the answer is there.
func TestDraftIsNotReusedWhileTheTransportReads(t *testing.T) {
	sub, e := newTestSubscription(t), newPrepared()
	p := newTestParcel(sub, e, 2)
	req, done, err := e.request(context.Background(), p, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d := req.Body.(*draftBody).draft
	done()
	if d.holders.Load() != 1 || d.content == nil {
		t.Fatal("given back while the body is open")
	}
	req.Body.Close()
	req.Body.Close()
	if d.holders.Load() != 0 || d.content != nil {
		t.Fatal("not given back, or more than once")
	}
}

// The prepared encoding is there to allocate less; it was 36 and 3 when
// this was written, a few more under the race detector, which empties pools.
func TestEncodingAllocations(t *testing.T) {
	sub := newTestSubscription(t)
	for name, most := range map[string]float64{"attempt": 60, "prepared": 12} {
		e := newEncoders[name]()
		p := newTestParcel(sub, e, 1)
		now := time.Now()
		got := testing.AllocsPerRun(200, func() {
			req, done, err := e.request(context.Background(), p, now)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, req.Body)
			req.Body.Close()
			done()
		})
		if got > most {
			t.Errorf("%s: %v allocations for a request, more than %v", name, got, most)
		}
		t.Logf("%s: %v allocations", name, got)
	}
}

// The same content has the same id, other content another, however it is put together.
func TestMessageID(t *testing.T) {
	id := func(ids ...string) string {
		p := &parcel{}
		for _, id := range ids {
			p.notices = append(p.notices, &notice{ID: id})
		}
		return messageID(p)
	}
	if id("a") != "a" || id("a", "b") != id("a", "b") {
		t.Error("ids are not stable")
	}
	seen := map[string]bool{}
	for _, got := range []string{id("a", "b"), id("b", "a"), id("ab", ""), id("a", "b", "c"), id("a", "bc")} {
		if seen[got] {
			t.Errorf("%s stands for two contents", got)
		}
		seen[got] = true
	}
}

func BenchmarkEncoding(b *testing.B) {
	sub := newTestSubscription(b)
	for _, name := range []string{"attempt", "prepared"} {
		b.Run(name, func(b *testing.B) {
			e := newEncoders[name]()
			p := newTestParcel(sub, e, 1)
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				req, done, err := e.request(context.Background(), p, now)
				if err != nil {
					b.Fatal(err)
				}
				req.Body.Close()
				done()
			}
		})
	}
}
