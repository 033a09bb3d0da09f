package leaktest

import (
	"testing"
	"time"
)

func TestRunning(t *testing.T) {
	if left := running(); len(left) > 0 {
		t.Errorf("%d goroutines before one was started: %v", len(left), left)
	}
	release, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		<-release
	}()
	if left := running(); len(left) != 1 {
		t.Errorf("%d goroutines, want the one that waits", len(left))
	}
	close(release)
	<-ended
	for len(running()) > 0 { // its stack may outlive the close for a moment
		time.Sleep(time.Millisecond)
	}
}
