package daemon

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestSignals(t *testing.T) {
	for name, c := range map[string]struct {
		after          []time.Duration // of each signal, since the one before
		drained, leave bool
	}{
		"none":                       {nil, false, false},
		"one":                        {[]time.Duration{time.Second}, true, false},
		"one that comes twice":       {[]time.Duration{0, 0}, true, false},
		"a wrapper is slow":          {[]time.Duration{time.Hour, echo - 1}, true, false},
		"impatience":                 {[]time.Duration{0, echo}, true, true},
		"an echo, and an hour later": {[]time.Duration{0, 1, time.Hour}, true, true},
		"one key held down":          {[]time.Duration{0, echo / 3, echo / 3, echo / 3, echo / 3}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals, quit, left := make(chan os.Signal, 2), make(chan struct{}), make(chan bool)
				drained := 0
				go func() { left <- signalledTwice(signals, quit, func(os.Signal) { drained++ }) }()
				for _, wait := range c.after {
					time.Sleep(wait)
					signals <- os.Interrupt
					synctest.Wait()
				}
				if !c.leave {
					close(quit)
				}
				if leave := <-left; leave != c.leave || drained > 1 || (drained == 1) != c.drained {
					t.Errorf("left %v, drained %d times, want %v, %v", leave, drained, c.leave, c.drained)
				}
			})
		})
	}
}
