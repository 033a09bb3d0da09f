package lanes_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"dyno/services/arena/lanes"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Work of a topic is done in its order, all of it before Close returns.
func TestOrderOfATopic(t *testing.T) {
	const topics, each = 20, 100
	l := lanes.New(lanes.Config{Workers: 3, Waiting: topics * each})
	var done [topics][]int
	for n := range each {
		for topic := range topics {
			if !l.Try(fmt.Sprint(topic), func() { done[topic] = append(done[topic], n) }) {
				t.Fatal("work was refused")
			}
		}
	}
	l.Close()
	for topic, order := range done {
		if len(order) != each || !slices.IsSorted(order) {
			t.Errorf("topic %d: %v", topic, order)
		}
	}
	if l.Try("a", func() {}) {
		t.Error("work was taken after Close")
	}
	l.Close()
}

// A worker that is held up takes as much as may wait, and others work on.
func TestRefusesWhenFull(t *testing.T) {
	l := lanes.New(lanes.Config{Workers: 2, Waiting: 2})
	defer l.Close()
	held, release := make(chan bool), make(chan bool)
	if !l.Try("a", func() { held <- true; <-release }) {
		t.Fatal("refused")
	}
	<-held
	var done atomic.Int64
	for range 2 {
		if !l.Try("a", func() { done.Add(1) }) {
			t.Error("refused while there is place")
		}
	}
	if l.Try("a", func() { done.Add(1) }) {
		t.Error("taken although two wait")
	}
	others := 0
	for n := range 100 { // about half of them have the other worker
		answered := make(chan bool, 1)
		if l.Try(fmt.Sprint(n), func() { answered <- true }) {
			<-answered
			others++
		}
	}
	if others == 0 {
		t.Error("no topic has the other worker")
	}
	close(release)
	l.Close()
	if n := done.Load(); n != 2 {
		t.Errorf("%d were done", n)
	}
}

// Leaving work to a worker allocates nothing.
func TestDoesNotAllocate(t *testing.T) {
	l := lanes.New(lanes.Config{Workers: 1, Waiting: 2000})
	defer l.Close()
	do := func() {}
	if n := testing.AllocsPerRun(1000, func() { l.Try("topic", do) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
