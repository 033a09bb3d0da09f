package soak

import (
	"testing"
	"time"
)

// An outage is over when every client had a request served that began after the database's return.
func TestOutage(t *testing.T) {
	o := newOutage(2)
	o.served(0, time.Now()) // before the outage
	before := time.Now()
	o.end()
	o.served(0, before)
	o.served(1, time.Now())
	if o.over() || o.waiting() != 1 {
		t.Fatalf("over is %v, %d wait", o.over(), o.waiting())
	}
	o.served(1, time.Now())
	if o.over() {
		t.Fatal("one client alone is enough")
	}
	o.served(0, time.Now())
	if !o.over() || o.waiting() != 0 || o.took <= 0 {
		t.Fatalf("over is %v, %d wait, it took %v", o.over(), o.waiting(), o.took)
	}
	o.served(0, time.Now()) // has no effect
}
