package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The owner is gone: the keeper goes from the fast shutdown to the harder ones, and gives each its
// time.
func TestAnAbandonedKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orders, exited := make(chan byte), make(chan error, 1)
		begun := time.Now()
		var got []string
		carryOut := func(order byte) {
			got = append(got, fmt.Sprintf("%c after %v", order, time.Since(begun)))
			if order == orderKill {
				exited <- errors.New("killed")
			}
		}
		go func() {
			time.Sleep(time.Second)
			orders <- orderFast
			close(orders)
		}()
		if err := attend(orders, exited, carryOut); err == nil || err.Error() != "killed" {
			t.Errorf("%v, want how PostgreSQL ended", err)
		}
		if want := []string{"f after 1s", "f after 1s", "i after 21s", "k after 31s"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// With an owner that lives, the keeper waits for him.
func TestAKeeperObeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orders, exited := make(chan byte), make(chan error, 1)
		var got []byte
		go func() {
			orders <- orderFast
			time.Sleep(24 * time.Hour)
			orders <- orderImmediate
			exited <- nil
		}()
		if err := attend(orders, exited, func(order byte) { got = append(got, order) }); err != nil {
			t.Error(err)
		}
		if string(got) != "fi" {
			t.Errorf("%q, want only what the owner ordered", got)
		}
	})
}

func TestChildrenOf(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	children, err := childrenOf(os.Getpid())
	if err != nil || !slices.Contains(children, child.Process.Pid) || slices.Contains(children, os.Getpid()) {
		t.Errorf("%v %v, want %d among them", children, err, child.Process.Pid)
	}
	child.Process.Kill()
	child.Wait()
}

func TestKeepRefusesNonsense(t *testing.T) {
	for _, args := range [][]string{nil, {"log"}} {
		if err := keep(args, nil); err == nil {
			t.Errorf("keep %q does not complain", args)
		}
	}
}

func TestAProgramWithoutMain(t *testing.T) {
	mainCalled.Store(false)
	if err := checkMain(); err == nil || !strings.Contains(err.Error(), "postgres.KeeperMain()") || !strings.Contains(err.Error(), "TestMain") {
		t.Error(err)
	}
	mainCalled.Store(true)
	if err := checkMain(); err != nil {
		t.Error(err)
	}
}
