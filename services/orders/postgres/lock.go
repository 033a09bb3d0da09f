package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"dyno/parts/flock"
)

// own takes the folder for this process.
func (c cluster) own() (*os.File, error) {
	l, err := flock.Open(c.ownerLock())
	if errors.Is(err, flock.ErrLocked) {
		text, _ := os.ReadFile(c.ownerLock())
		return nil, fmt.Errorf("%w (pid %s); stop it or choose another folder with --data", ErrInUse, strings.TrimSpace(string(text)))
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.give(c.ownerLock()), flock.Sign(l)); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// ErrInUse is the cause of Start's error when another process runs a PostgreSQL in the folder.
var ErrInUse = errors.New("the folder is in use by another process")

// leftover bounds the wait for a PostgreSQL whose owner was killed: the kernel may need a while to
// free its memory.
const leftover = ownerGone + 30*time.Second

// unused waits until no process of an earlier start is left, and returns the lock that those of
// this one must inherit.
func (c cluster) unused(ctx context.Context, report reporter) (held *os.File, err error) {
	ctx, cancel := context.WithTimeout(ctx, leftover)
	defer cancel()
	err = report.wait(ctx, "waiting for the PostgreSQL of an earlier process to stop", func() (bool, error) {
		held, err = flock.Open(c.serverLock())
		if errors.Is(err, flock.ErrLocked) {
			return false, nil
		}
		return true, err
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("an earlier PostgreSQL there has not stopped: %w; its first process is named in %s", err, c.postmasterPID())
	}
	return held, err
}
