package peers

import (
	"errors"
	"testing"
)

func TestQueueIsBounded(t *testing.T) {
	all := load{alarm: func(bool, int64) {}}
	q := newQueue(&all)
	put := func(size int) error {
		f := newFrame(message{form: note, body: make([]byte, size)})
		defer f.release()
		return q.put(f)
	}
	for i := range queueMessages {
		if err := put(1); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := put(1); !errors.Is(err, ErrFull) || q.dropped != 1 || !q.stalled || all.stalled.Load() != 1 {
		t.Fatalf("message %d: %v, %d dropped, stalled %t", queueMessages, err, q.dropped, q.stalled)
	}
	for range queueMessages {
		q.sent(<-q.out)
	}
	if q.stalled || q.bytes != 0 || all.messages.Load() != 0 {
		t.Errorf("an empty queue: stalled %t, %d bytes, %d messages", q.stalled, q.bytes, all.messages.Load())
	}
	if err := put(queueBytes + 1); err != nil {
		t.Errorf("a large message for an empty queue: %v", err)
	}
	if err := put(1); !errors.Is(err, ErrFull) {
		t.Errorf("another behind it: %v", err)
	}
	q.close()
	if err := put(1); !errors.Is(err, ErrGone) || all.messages.Load() != 0 || all.stalled.Load() != 0 {
		t.Errorf("a closed queue: %v, %d messages, %d stalled", err, all.messages.Load(), all.stalled.Load())
	}
}

func TestAllQueuesAreBounded(t *testing.T) {
	var alarms []bool
	all := load{alarm: func(on bool, _ int64) { alarms = append(alarms, on) }}
	f := newFrame(message{form: heartbeat})
	var queues []*queue
	for range allMessages / queueMessages {
		q := newQueue(&all)
		queues = append(queues, q)
		for range queueMessages {
			if err := q.put(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	another := newQueue(&all)
	if err := another.put(f); !errors.Is(err, ErrFull) || all.refused.Load() != 1 || another.dropped != 0 {
		t.Errorf("a message beyond the limit of all: %v, %d refused, %d dropped", err, all.refused.Load(), another.dropped)
	}
	queues[0].sent(<-queues[0].out)
	if err := another.put(f); err != nil {
		t.Errorf("a message after another was sent: %v", err)
	}
	another.sent(<-another.out) // so that there is room for one that is dropped
	for i, q := range queues[1:] {
		if err := q.put(f); !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
		if want := min(1, i/alarmStalled); len(alarms) != want {
			t.Fatalf("%d stalled peers: alarms %v", i+1, alarms)
		}
	}
	for _, q := range queues {
		q.close()
	}
	if len(alarms) != 2 || !alarms[0] || alarms[1] || f.left.Load() != 1 {
		t.Errorf("alarms %v, and the frame is in %d queues", alarms, f.left.Load()-1)
	}
}
