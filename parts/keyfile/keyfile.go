// Package keyfile reads a small file of secrets, and again when it changes, so that a key can be
// put in or taken out while a service runs.
//
// It is not for what the file says, nor for what was granted by what it said before: both are
// Options.Take's. It starts no goroutines; Watch runs in its caller's.
package keyfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

const (
	// Interval is the time between two looks at the file. After it and Settle, what the file says
	// is in force.
	Interval = time.Second
	// Settle is how long a changed file must stay as it is: a program that writes it in place
	// leaves it empty, or half of it, for a moment.
	Settle = 50 * time.Millisecond
)

// Options are of a File.
type Options struct {
	Path string
	Max  int // bytes
	// Take puts in force what the file says, or returns an error that names the file; then what was
	// in force stays.
	Take func(text []byte) error
	Log  *slog.Logger
}

// File is one that was read.
type File struct {
	o       Options
	text    []byte // as it was taken last
	failure string // why the file could not be taken over; "": it was
}

// Open reads a file.
func Open(o Options) (*File, error) {
	f := &File{o: o}
	text, mode, err := f.read()
	if err == nil {
		err = f.take(text, mode)
	}
	return f, err
}

func (f *File) take(text []byte, mode fs.FileMode) error {
	if err := f.o.Take(text); err != nil {
		return err
	}
	f.text = text
	if mode&0o026 != 0 {
		f.o.Log.Warn("others may read or change the file of keys; chmod 600 "+f.o.Path, "file", f.o.Path, "mode", mode.String())
	}
	return nil
}

// Watch takes the file over each time that it changes, until ctx ends. A file system that hangs
// holds it.
func (f *File) Watch(ctx context.Context) {
	look := time.NewTicker(Interval)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			f.report(f.reload(ctx))
		case <-ctx.Done():
			return
		}
	}
}

// report logs once why the file is not taken over.
func (f *File) report(err error) {
	before := f.failure
	f.failure = ""
	if err == nil {
		return
	}
	if f.failure = err.Error(); f.failure != before {
		f.o.Log.Error("the keys could not be read again; those read before stay in force", "error", err)
	}
}

// reload takes over a file that has changed. The text is compared, and not the time of the last
// change: a key put in place of another leaves the size as it was, and two changes can fall into
// one tick of the file system's clock.
func (f *File) reload(ctx context.Context) error {
	text, _, err := f.read()
	if err != nil || bytes.Equal(text, f.text) {
		return err
	}
	select {
	case <-time.After(Settle):
	case <-ctx.Done():
		return nil
	}
	settled, mode, err := f.read()
	if err != nil || !bytes.Equal(settled, text) {
		return err
	}
	if err := f.take(text, mode); err != nil {
		return err
	}
	f.o.Log.Info("the keys were read again", "file", f.o.Path)
	return nil
}

// read returns the text of the file, and who may use it. What is not a regular file could be read
// once only, or never end.
func (f *File) read() ([]byte, fs.FileMode, error) {
	info, err := os.Stat(f.o.Path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file; it is read again when it changes", f.o.Path)
	}
	file, err := os.Open(f.o.Path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(f.o.Max)+1))
	if err != nil {
		return nil, 0, err
	}
	if len(text) > f.o.Max {
		return nil, 0, fmt.Errorf("%s has more than %d bytes: is it the right file?", f.o.Path, f.o.Max)
	}
	return text, info.Mode().Perm(), nil
}
