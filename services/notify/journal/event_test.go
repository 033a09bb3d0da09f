package journal

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dyno/services/notify/subscription"
)

// encode is the inverse of decode.
func encode(e *event) ([]byte, error) {
	switch e.kind {
	case kindPut:
		return encodePut(e.handle, e.position.Definition, e.from)
	case kindDelete, kindDeparted:
		return encodeCounts(e.kind, e.handle, e.counts), nil
	case kindComplete:
		return encodeComplete(e.from), nil
	case kindDelivered, kindPurge, kindReplay, kindDead, kindAhead:
		return encodeSeqs(nil, e.kind, e.handle, e.seqs), nil
	case kindFailed, kindWaiting, kindReplaying:
		return encodeWaiting(nil, e.kind, e.handle, e.waiting), nil
	case kindPosition:
		batch, err := encodePosition(e.handle, e.position, nil)
		if err != nil {
			return nil, err
		}
		return batch[0], nil
	default:
		return encodeLetter(e.kind, e.handle, e.letter, e.record), nil
	}
}

var anyTime = rapid.Custom(func(t *rapid.T) time.Time {
	if rapid.Bool().Draw(t, "zero") {
		return time.Time{}
	}
	return time.UnixMilli(rapid.Int64Range(1, 1<<42).Draw(t, "ms")).UTC()
})

var anyWaiting = rapid.Custom(func(t *rapid.T) subscription.Waiting {
	return subscription.Waiting{Seq: rapid.Uint64().Draw(t, "seq"), Tries: int(rapid.Int32Min(0).Draw(t, "tries")), Next: anyTime.Draw(t, "next")}
})

var anyCounts = rapid.Custom(func(t *rapid.T) subscription.Counts {
	n := func() int64 { return rapid.Int64().Draw(t, "n") }
	return subscription.Counts{Accepted: n(), Delivered: n(), Retried: n(), Dead: n(), Refused: n(), Purged: n(), Lost: n()}
})

var anyDefinition = rapid.Custom(func(t *rapid.T) subscription.Definition {
	return subscription.Definition{
		ID:          rapid.StringMatching(`[a-z]{1,9}`).Draw(t, "id"),
		URL:         rapid.String().Draw(t, "url"),
		Types:       rapid.SampledFrom([][]string{nil, {"a"}, {"b.*", "c"}}).Draw(t, "types"),
		Secrets:     []subscription.Secret{{Key: []byte("k"), Until: anyTime.Draw(t, "until")}},
		RatePerS:    rapid.Float64Range(0, 1e9).Draw(t, "rate"),
		Concurrency: rapid.Int().Draw(t, "concurrency"),
		Batch:       rapid.Int().Draw(t, "batch"),
		Disabled:    rapid.SampledFrom([]string{"", "gone"}).Draw(t, "disabled"),
		Created:     anyTime.Draw(t, "created"),
	}
})

var anyPosition = rapid.Custom(func(t *rapid.T) subscription.Position {
	return subscription.Position{
		Definition: anyDefinition.Draw(t, "definition"),
		Filters:    []subscription.Filter{{From: 3, Types: []string{"a"}}, {From: 9, None: true}},
		Loaded:     rapid.Uint64Range(0, 8).Draw(t, "loaded"),
		Backlog:    rapid.Int64().Draw(t, "backlog"),
		Routed:     rapid.Uint64().Draw(t, "routed"),
		Counts:     anyCounts.Draw(t, "counts"),
	}
})

var anyEvent = rapid.Custom(func(t *rapid.T) *event {
	e := &event{kind: kind(rapid.IntRange(int(kindPut), int(kindComplete)).Draw(t, "kind"))}
	e.handle = rapid.Uint64().Draw(t, "handle")
	switch e.kind {
	case kindPut:
		e.from = rapid.Uint64().Draw(t, "from")
		e.position.Definition = anyDefinition.Draw(t, "definition")
	case kindDelete, kindDeparted:
		e.counts = anyCounts.Draw(t, "counts")
	case kindComplete:
		e.handle, e.from = 0, rapid.Uint64().Draw(t, "from")
	case kindDelivered, kindPurge, kindReplay, kindDead, kindAhead:
		e.seqs = rapid.SliceOfN(rapid.Uint64(), 1, 9).Draw(t, "seqs")
	case kindFailed, kindWaiting, kindReplaying:
		e.waiting = rapid.SliceOfN(anyWaiting, 1, 9).Draw(t, "waiting")
	case kindPosition:
		e.position = anyPosition.Draw(t, "position")
	default:
		e.record = rapid.SliceOf(rapid.Byte()).Draw(t, "record")
		e.letter = subscription.DeadLetter{Seq: rapid.Uint64().Draw(t, "seq"), Attempts: 3, Status: rapid.IntRange(-1, 999).Draw(t, "status")}
		e.letter.Reason = rapid.StringN(-1, -1, maxReason).Draw(t, "reason")
		e.letter.DeadAt = anyTime.Draw(t, "died")
		if e.letter.Replaying = rapid.Bool().Draw(t, "replaying"); e.letter.Replaying {
			e.letter.Retry = anyWaiting.Draw(t, "retry")
		}
		e.letter.Size = len(e.record)
	}
	return e
})

func TestEventsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyEvent.Draw(t, "event")
		record, err := encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(record)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.record, want.record) {
			t.Fatalf("record %q, want %q", got.record, want.record)
		}
		if got.record, want.record = nil, nil; !reflect.DeepEqual(&got, want) {
			t.Fatalf("got  %+v\nwant %+v", &got, want)
		}
	})
}

func TestFrequentEventsAreSmall(t *testing.T) {
	const handle, seq = 1000, 5_000_000
	if n := len(encodeSeqs(nil, kindDelivered, handle, []uint64{seq})); n > 7 {
		t.Errorf("Delivered takes %d bytes", n)
	}
	if n := len(encodeSeqs(nil, kindDelivered, handle, []uint64{seq, seq + 1, seq + 3})); n > 9 {
		t.Errorf("three Delivered take %d bytes", n)
	}
	if n := len(encodeWaiting(nil, kindFailed, handle, []subscription.Waiting{{Seq: seq, Tries: 3, Next: time.UnixMilli(1_800_000_000_000)}})); n > 14 {
		t.Errorf("Failed takes %d bytes", n)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		record []byte
		want   string
	}{
		{nil, "empty"},
		{[]byte{2<<4 | 1, 1}, "version 2, and this program reads version 1: use the notifyd that wrote it"},
		{[]byte{version << 4, 1}, "kind 0, which this program does not know: use the notifyd that wrote it"},
		{[]byte{version<<4 | byte(kindDelivered)}, "ends in the middle"},
		{[]byte{version<<4 | byte(kindDelivered), 1, 0x80}, "ends in the middle"},
		{[]byte{version<<4 | byte(kindDelete), 1, 0, 0, 0, 0, 0, 0, 0, 0}, "1 bytes too many"},
		{[]byte{version<<4 | byte(kindPut), 1, 1, '{'}, "JSON"},
		{[]byte{version<<4 | byte(kindFailed), 1, 2, 0xff, 0xff, 0xff, 0xff, 0x7f, 0}, "small"},
		{[]byte{version<<4 | byte(kindDeadLetter), 1, 2, 0, 0, 0, 0, 9}, "ends in the middle"},
	} {
		if _, err := decode(c.record); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%x: %v, want %q", c.record, err, c.want)
		}
	}
}

// Whatever the bytes, decode returns an event or an error, and what it returns survives being
// written again.
func FuzzDecode(f *testing.F) {
	for i := range 200 {
		record, err := encode(anyEvent.Example(i))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(record)
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		fold := newFold()
		if fold.visit(1, record) != nil {
			return
		}
		for _, s := range fold.states {
			s.result()
		}
		first, _ := decode(record)
		again, err := encode(&first)
		if err != nil {
			return // longer than it may be
		}
		second, err := decode(again)
		if err != nil {
			t.Fatalf("%x was read and written as %x: %v", record, again, err)
		}
		third, err := encode(&second)
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%x was written as %x, then as %x (%v)", record, again, third, err)
		}
	})
}
