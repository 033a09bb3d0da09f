package monotonic

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func TestNowNeverGoesBack(t *testing.T) {
	last := Now()
	for range 100_000 {
		now := Now()
		if now < last {
			t.Fatalf("Now went back from %d to %d", last, now)
		}
		last = now
	}
}

// Two processes must read the same clock: a child's reading is between two of the parent's.
func TestSharedBetweenProcesses(t *testing.T) {
	if os.Getenv("MONOTONIC_CHILD") != "" {
		os.Stdout.WriteString("now=" + strconv.FormatInt(Now(), 10) + "\n")
		return
	}
	before := Now()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSharedBetweenProcesses$")
	cmd.Env = append(os.Environ(), "MONOTONIC_CHILD=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	after := Now()
	_, rest, ok := strings.Cut(string(out), "now=")
	if !ok {
		t.Fatalf("child printed %q", out)
	}
	child, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if child < before || child > after {
		t.Fatalf("child read %d, outside the parent's %d..%d", child, before, after)
	}
}

func TestNowDoesNotAllocate(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Now() }); n != 0 {
		t.Fatalf("Now allocates %v times", n)
	}
}
