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

// lock is a flocked file. The lock belongs to the open file: it ends when the last process that has
// it open, by inheritance too, closes it or dies.
type lock struct{ file *os.File }

func tryLock(path string) (*lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock.Lock(file); err != nil {
		file.Close()
		return nil, err
	}
	return &lock{file}, nil
}

// release gives this process's hold on the lock up.
func (l *lock) release() {
	if l != nil && l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// own takes the folder for this process.
func (c cluster) own() (*lock, error) {
	l, err := tryLock(c.ownerLock())
	if errors.Is(err, flock.ErrLocked) {
		text, _ := os.ReadFile(c.ownerLock())
		return nil, fmt.Errorf("%w (pid %s); stop it or choose another folder with --data", ErrInUse, strings.TrimSpace(string(text)))
	}
	if err != nil {
		return nil, err
	}
	err = errors.Join(c.give(c.ownerLock()), flock.Sign(l.file))
	if err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// ErrInUse is the cause of Start's error when another process runs a PostgreSQL in the folder.
var ErrInUse = errors.New("the folder is in use by another process")

// leftover bounds the wait for a PostgreSQL whose owner was killed: the keeper stops it within
// ownerGone, and the kernel may need a while to free its memory.
const leftover = ownerGone + 30*time.Second

// unused waits until no process of an earlier start is left, and returns the lock that those of
// this one are to inherit.
func (c cluster) unused(ctx context.Context, p progress) (*lock, error) {
	ctx, cancel := context.WithTimeout(ctx, leftover)
	defer cancel()
	wait := p.begin("waiting for the PostgreSQL of an earlier process to stop")
	defer wait.end()
	for {
		l, err := tryLock(c.serverLock())
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, flock.ErrLocked) {
			return nil, err
		}
		wait.tick()
		if err := pause(ctx, poll); err != nil {
			return nil, fmt.Errorf("an earlier PostgreSQL there has not stopped: %w; its first process is named in %s", err, c.postmasterPID())
		}
	}
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
