package postgres

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// PostgreSQL is the child of a keeper, which is this program executed once more (see KeeperMain):
// the keeper holds the end of a pipe and stops PostgreSQL when the owner closes it, also by being
// killed. On Linux the kernel stops PostgreSQL when the keeper itself is killed.

// keeperName is argv[0] of this program executed once more, which is also what ps shows.
const keeperName = "postgres-keeper"

// mainCalled says that the program, executed once more, would become a keeper, and not itself
// again.
var mainCalled atomic.Bool

// KeeperMain must be the first line of main, and of TestMain. It returns immediately, unless this
// process is a keeper that startKeeper started: then it keeps PostgreSQL and exits.
func KeeperMain() {
	mainCalled.Store(true)
	if os.Args[0] != keeperName {
		return
	}
	if err := keep(os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// checkMain returns an error unless the program has called KeeperMain.
func checkMain() error {
	if !mainCalled.Load() {
		return errors.New("the program must call postgres.KeeperMain() as the first line of main, or of TestMain")
	}
	return nil
}

// What the owner writes to the keeper, a byte each. The end of the pipe means that the owner is
// gone.
const (
	orderFast      = 'f' // end the sessions, write a checkpoint, stop
	orderImmediate = 'i' // stop now; the next start recovers
	orderKill      = 'k' // SIGKILL to the postmaster and its children
)

// How long the keeper waits before it escalates when the owner is gone: a fast shutdown writes out
// shared_buffers; in an immediate one, PostgreSQL kills children that do not obey after 5 s.
const (
	fastGrace      = 20 * time.Second
	immediateGrace = 10 * time.Second
)

// ownerGone is how long PostgreSQL may live on when its owner is gone.
const ownerGone = fastGrace + immediateGrace

// stopGrace bounds the wait for SIGSTOP to take effect, which is microseconds but on a machine that
// is very busy.
const stopGrace = 5 * time.Second

// keep runs PostgreSQL as its child until that ends, and stops it on the owner's order or when
// orders ends. args: the log, and the command line.
func keep(args []string, orders io.Reader) error {
	if len(args) < 2 {
		return errors.New("keep: want LOG POSTGRES [ARGUMENT...]")
	}
	runtime.LockOSThread()                                                                  // the parent death signal is tied to the thread that forks, and this one stays
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // only the owner stops PostgreSQL
	log, err := openLog(args[0])
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = 10 * time.Second // for children that outlive a killed postmaster and hold its stderr
	cmd.SysProcAttr = childOfKeeper()
	cmd.Env = append(os.Environ(), fmt.Sprint("PG_GRANDPARENT_PID=", os.Getppid())) // not to be taken for another postmaster when pids begin anew
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", args[1], err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	if err := attend(readOrders(orders), exited, func(order byte) { carryOut(order, cmd.Process) }); err != nil {
		return fmt.Errorf("%s ended: %w%s", filepath.Base(args[1]), err, log.lastWords())
	}
	return nil
}

// readOrders passes the owner's orders on, and closes when the owner is gone. It ends with the
// process.
func readOrders(orders io.Reader) <-chan byte {
	out := make(chan byte)
	go func() {
		defer close(out)
		var b [1]byte
		for {
			if _, err := io.ReadFull(orders, b[:]); err != nil {
				return
			}
			out <- b[0]
		}
	}()
	return out
}

// attend passes orders on until PostgreSQL has exited. When the owner is gone, it gives its own
// orders.
func attend(orders <-chan byte, exited <-chan error, carryOut func(order byte)) error {
	var timeUp <-chan time.Time
	next := byte(orderFast)
	for {
		select {
		case err := <-exited:
			return err
		case order, given := <-orders:
			if given {
				carryOut(order)
				continue
			}
			orders = nil
		case <-timeUp:
		}
		carryOut(next)
		switch next {
		case orderFast:
			next, timeUp = orderImmediate, time.After(fastGrace)
		case orderImmediate:
			next, timeUp = orderKill, time.After(immediateGrace)
		case orderKill:
			timeUp = nil // there is nothing harder
		}
	}
}

// carryOut signals PostgreSQL to end. If it has ended already, the signal fails, and attend sees
// the exit.
func carryOut(order byte, postmaster *os.Process) {
	switch order {
	case orderFast:
		postmaster.Signal(syscall.SIGINT)
	case orderImmediate:
		postmaster.Signal(syscall.SIGQUIT)
	case orderKill:
		killFamily(postmaster)
	}
}

// killFamily kills the postmaster and its children. It stops the postmaster first, so that no child
// is born unseen, and waits for that: the signal takes effect when the postmaster runs next.
func killFamily(postmaster *os.Process) {
	if postmaster.Signal(syscall.SIGSTOP) != nil {
		return
	}
	for began := time.Now(); !isStopped(postmaster.Pid) && time.Since(began) < stopGrace; {
		time.Sleep(time.Millisecond)
	}
	family, _ := childrenOf(postmaster.Pid) // without the list the children still notice that the postmaster is gone
	postmaster.Kill()
	for _, pid := range family {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}
