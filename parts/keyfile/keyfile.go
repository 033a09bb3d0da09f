// Package keyfile reads a small file of secrets, and again when it changes, so that a key can be
// put in or taken out while a service runs.
//
// It is not for what the file says, nor for what was granted by what it said before: both are
// Options.Take's. It starts no goroutines; Watch runs in its caller's.
package keyfile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

const (
	// Interval is the time between two looks at the file where Options.Every is 0. After it and
	// Settle, what the file says is in force.
	Interval = time.Second
	// Settle is how long a changed file must stay as it is: a program that writes it in place
	// leaves it empty, or half of it, for a moment.
	Settle = 50 * time.Millisecond
	// Reminder is how often the log repeats that the file cannot be taken over.
	Reminder = time.Minute
)

// Options are of a File.
type Options struct {
	Path  string
	Max   int           // bytes
	Every time.Duration // between two looks; 0: Interval
	// Take puts in force what the file says, and returns the permissions that its content forbids to
	// others; or it returns an error that names the file, and what was in force stays.
	Take func(text []byte) (forbidden fs.FileMode, err error)
	Log  *slog.Logger
}

// File is one that was read.
type File struct {
	o       Options
	text    []byte       // as it was taken last
	failure string       // why the file could not be taken over; "": it was
	said    time.Time    // when the log had that last
	unread  atomic.Int64 // since when, in Unix nanoseconds; 0: it was
}

// Open reads a file.
func Open(o Options) (*File, error) {
	o.Every = cmp.Or(o.Every, Interval)
	f := &File{o: o}
	text, mode, err := Read(o.Path, o.Max)
	if err == nil {
		err = f.take(text, mode)
	}
	return f, err
}

func (f *File) take(text []byte, mode fs.FileMode) error {
	forbidden, err := f.o.Take(text)
	if err != nil {
		return err
	}
	f.text = text
	if mode&forbidden != 0 {
		f.o.Log.Warn("others may read or change the file of keys; chmod 600 "+f.o.Path, "file", f.o.Path, "mode", mode.String())
	}
	return nil
}

// Watch takes the file over each time that it changes, until ctx ends. A file system that hangs
// holds it.
func (f *File) Watch(ctx context.Context) {
	look := time.NewTicker(f.o.Every)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			f.Look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// Look takes the file over if it has changed. One that Take refuses, or that is gone, takes no key
// back: the next look may find it written. The log and Unread say so for as long as it lasts. Watch
// calls Look; it must not run beside it.
func (f *File) Look(ctx context.Context) {
	err, now := f.reload(ctx), time.Now()
	if err == errChanging {
		return
	}
	if err == nil {
		f.failure = ""
		f.unread.Store(0)
		return
	}
	f.unread.CompareAndSwap(0, now.UnixNano())
	if err.Error() != f.failure || now.Sub(f.said) >= Reminder {
		f.failure, f.said = err.Error(), now
		f.o.Log.Error("the keys could not be read again; those read before stay in force, also revoked ones, until this file is whole",
			"file", f.o.Path, "for", f.Unread().Round(time.Second).String(), "error", err)
	}
}

// Unread returns how long the file could not be taken over.
func (f *File) Unread() time.Duration {
	if since := f.unread.Load(); since != 0 {
		return time.Since(time.Unix(0, since))
	}
	return 0
}

// errChanging says that the file does not stay as it is, so the next look decides.
var errChanging = errors.New("the file is being changed")

// reload takes over a file that has changed. The text is compared, and not the time of the last
// change: a key put in place of another leaves the size as it was, and two changes can fall into
// one tick of the file system's clock.
func (f *File) reload(ctx context.Context) error {
	text, _, err := Read(f.o.Path, f.o.Max)
	if err != nil || bytes.Equal(text, f.text) {
		return err
	}
	select {
	case <-time.After(Settle):
	case <-ctx.Done():
		return errChanging
	}
	settled, mode, err := Read(f.o.Path, f.o.Max)
	if err != nil {
		return err
	}
	if !bytes.Equal(settled, text) {
		return errChanging
	}
	if err := f.take(text, mode); err != nil {
		return err
	}
	f.o.Log.Info("the keys were read again", "file", f.o.Path)
	return nil
}

// Read returns the text of a file of at most maxBytes bytes, and who may use it. What is not a
// regular file could be read once only, or never end.
func Read(path string, maxBytes int) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file; it is read again when it changes", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(maxBytes)+1))
	if err != nil {
		return nil, 0, err
	}
	if len(text) > maxBytes {
		return nil, 0, fmt.Errorf("%s has more than %d bytes: is it the right file?", path, maxBytes)
	}
	return bytes.TrimPrefix(text, byteOrderMark), info.Mode().Perm(), nil
}

// byteOrderMark begins what some editors save. It is no part of the text (RFC 3629, 6).
var byteOrderMark = []byte("\ufeff")
