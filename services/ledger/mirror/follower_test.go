package mirror

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"dyno/services/ledger/mirror/mirrorpb"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// wire is a stream whose Send blocks, like that of a client that does not read, until the test
// releases it or its handler has returned.
type wire struct {
	grpc.ServerStream
	ctx  context.Context
	pass chan struct{}
	got  *[]string // ledgers sent by all wires, in order
	name string
}

func (w *wire) Context() context.Context { return w.ctx }

func (w *wire) Send(*mirrorpb.Ledger) error {
	*w.got = append(*w.got, w.name+" begins")
	defer func() { *w.got = append(*w.got, w.name+" ends") }()
	<-w.pass
	return nil
}

// The previous stream has sent its last ledger when the next begins, even if its handler returned
// long before.
func TestAwaitsTheStreamBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Config{Store: &shelf{stored: history.Set{{From: 1, To: 1}}}})
		defer m.Stop(context.Background())
		var got []string
		results, wires := make(chan error, 3), []*wire{}
		for _, name := range []string{"a", "b", "c"} {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			w := &wire{ctx: ctx, pass: make(chan struct{}), got: &got, name: name}
			wires = append(wires, w)
			go func() {
				results <- m.StartSync(&mirrorpb.StartSyncRequest{Subscriber: "x", From: 1}, w)
			}()
			synctest.Wait()
		}
		for range 2 {
			if err := <-results; status.Code(err) != codes.Aborted {
				t.Errorf("a stream that was taken over ended with %v", err)
			}
		}
		if want := []string{"a begins"}; !slices.Equal(got, want) {
			t.Fatalf("while the first Send blocks: %q, want %q", got, want)
		}
		close(wires[0].pass)
		synctest.Wait()
		if want := []string{"a begins", "a ends", "c begins"}; !slices.Equal(got, want) {
			t.Fatalf("after it: %q, want %q", got, want)
		}
		m.mu.Lock()
		m.followers["x"].end(errStopping)
		m.mu.Unlock()
		if err := <-results; status.Code(err) != codes.Unavailable {
			t.Errorf("the last stream ended with %v", err)
		}
		close(wires[2].pass)
		m.running.Wait()
		if len(m.followers) != 0 {
			t.Errorf("%d followers are left", len(m.followers))
		}
	})
}

// The newest ledgers are kept within the limits of number and bytes, with copied bytes.
func TestRecent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count, bytes := rapid.IntRange(1, 5).Draw(t, "count"), rapid.Int64Range(1, 2000).Draw(t, "bytes")
		r := newRecent(count, bytes)
		var ascending []uint32
		for _, index := range rapid.SliceOfN(rapid.Uint32Range(1, 30), 1, 40).Draw(t, "published") {
			l := ledger(index, 10)
			_, changed := r.get(index)
			r.publish([]*xrpl.Ledger{l}, true)
			select {
			case <-changed:
			default:
				t.Fatalf("publishing %d wakes no stream", index)
			}
			l.Header[0], l.Transactions[0].Blob[0] = 0xFF, 0xFF
			if n := len(ascending); n == 0 || index > ascending[n-1] || len(r.order) == 0 {
				ascending = append(ascending, index)
			}
			if len(r.order) > count || r.size > bytes || len(r.order) != len(r.ledgers) {
				t.Fatalf("%d ledgers of %d bytes in %d places, want at most %d of %d", len(r.order), r.size, len(r.ledgers), count, bytes)
			}
		}
		var sum int64
		for i, index := range r.order {
			kept, _ := r.get(index)
			if want := ascending[len(ascending)-len(r.order)+i]; index != want || kept == nil {
				t.Fatalf("kept %v of %v", r.order, ascending)
			}
			if fresh := ledger(index, 10); string(kept.Header) != string(fresh.Header) || string(kept.Transactions[0].Blob) != string(fresh.Transactions[0].Blob) {
				t.Fatalf("ledger %d changed after it was published", index)
			}
			sum += size(kept)
		}
		if sum != r.size {
			t.Fatalf("%d bytes are kept, %d counted", sum, r.size)
		}
	})
}
