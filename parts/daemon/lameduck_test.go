package daemon

import (
	"net/http"
	"os"
	"syscall"
	"testing"
)

// After SIGTERM the process is not ready, accepts connections, and announces that it closes them;
// the second signal ends that.
func TestLameDuck(t *testing.T) {
	noLeaks(t)
	c := start(t, "--lame-duck=1h")
	c.signal(syscall.SIGTERM)
	for status := http.StatusOK; status != http.StatusServiceUnavailable; {
		status, _ = request(t, "GET", "http://"+c.Debug+"/readyz")
	}
	resp, err := http.Get("http://" + c.Listen + "/queue")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !resp.Close {
		t.Errorf("%s, close %t", resp.Status, resp.Close)
	}
	c.insist(syscall.SIGTERM)
	if code, stderr := c.exit(); code != 1 {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

// Ctrl-C does not wait for load balancers.
func TestInterruptIsNoLameDuck(t *testing.T) {
	noLeaks(t)
	c := start(t, "--lame-duck=1h")
	c.signal(os.Interrupt)
	if code, stderr := c.exit(); code != 0 {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

// What makes the process fail makes it stop now.
func TestFailureEndsTheLameDuck(t *testing.T) {
	noLeaks(t)
	c := start(t, "--lame-duck=1h")
	c.signal(syscall.SIGTERM)
	request(t, "POST", "http://"+c.Debug+"/debug/toyd/fail")
	if code, stderr := c.exit(); code != 1 {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}
