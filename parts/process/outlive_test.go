package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	roleVar = "TARGET_TEST_ROLE"
	roleLab = "lab"
)

// actAsLab starts a process that has a child of its own, prints their IDs and waits to be killed.
func actAsLab() {
	s := shell(`sleep 1000 & echo "{\"child\":\"$!\"}"; trap '' TERM; while :; do sleep 1; done`)
	s.ReadyLine = true
	p, err := Start(context.Background(), s)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if os.Getenv("TARGET_TEST_PANIC") != "" {
		defer panic("the lab fails")
	}
	dir, err := TempDir("outlive two words-")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "file"), nil, 0o644)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID(), p.Ready()["child"], theReaper.shell.Process.Pid)
	if os.Getenv("TARGET_TEST_PANIC") == "" {
		select {}
	}
}

// However the lab ends, everything it started ends too: the process, its child, and the reaper; and
// its folder for temporary files is gone.
func TestNothingOutlivesTheLab(t *testing.T) {
	for _, how := range []string{"kill -9", "panic", "reaper killed first"} {
		t.Run(how, func(t *testing.T) {
			lab := exec.Command(os.Args[0])
			temp := t.TempDir()
			lab.Env = append(os.Environ(), roleVar+"="+roleLab, "TMPDIR="+temp)
			if how == "panic" {
				lab.Env = append(lab.Env, "TARGET_TEST_PANIC=1")
			}
			out, err := lab.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := lab.Start(); err != nil {
				t.Fatal(err)
			}
			var process, child, shell int
			if _, err := fmt.Fscan(out, &process, &child, &shell); err != nil {
				t.Fatalf("the lab said nothing of use: %v", err)
			}
			t.Cleanup(func() { syscall.Kill(-process, syscall.SIGKILL) }) // only if the test fails
			gone := []int{process, child, shell}
			if how == "reaper killed first" {
				syscall.Kill(shell, syscall.SIGKILL)
				gone = []int{process} // the kernel kills only this one
			}
			if how != "panic" {
				lab.Process.Kill()
			}
			lab.Wait()
			for _, pid := range gone {
				awaitGone(t, pid)
			}
			if how != "reaper killed first" {
				poll(t, "the folder should be gone", func() bool {
					left, err := os.ReadDir(temp)
					return err == nil && len(left) == 0
				})
			}
		})
	}
}

// A reaper that was killed is replaced when the next process starts, and its successor receives
// all groups.
func TestGuardianIsReplaced(t *testing.T) {
	first := start(t, shell("exec sleep 1000"))
	old := theReaper.shell
	old.Process.Kill()
	awaitZombie(t, old.Process.Pid)
	start(t, shell("exec sleep 1000"))
	if theReaper.shell == old {
		t.Fatal("the dead reaper was kept")
	}
	if !theReaper.groups[first.PID()] {
		t.Error("the new reaper did not receive the process that was there before it")
	}
	theReaper.mu.Lock()
	theReaper.pipe.Close() // as if the lab had died
	theReaper.mu.Unlock()
	ended(t, first)
	var exit *ExitError
	if !errors.As(first.Err(), &exit) || exit.Signal != syscall.SIGKILL {
		t.Errorf("the first process ended with %v, want the reaper's SIGKILL", first.Err())
	}
}

// poll calls done until it is true. It waits between calls by a ticker; only its time-out can fail.
func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(testTimeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Errorf("gave up waiting: %s", what)
			return
		}
	}
}

// awaitGone waits until no process has that ID, or only a dead one that its parent has not reaped.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	poll(t, "process "+strconv.Itoa(pid)+" should end", func() bool {
		return syscall.Kill(pid, 0) == syscall.ESRCH || isZombie(pid)
	})
}

func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	poll(t, "process "+strconv.Itoa(pid)+" should be dead", func() bool { return isZombie(pid) })
}

func isZombie(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func awaitText(t *testing.T, file, text string) {
	t.Helper()
	poll(t, file+" should hold text", func() bool {
		b, _ := os.ReadFile(file)
		return strings.Contains(string(b), text)
	})
}

func firstNumber(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	n, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("the log begins with %q: %v", line, err)
	}
	return n
}
