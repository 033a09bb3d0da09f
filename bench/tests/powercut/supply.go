// Package powercut is a file system of the kernel's that loses what was not synced: a
// faultdisk.Disk, mounted through FUSE by a process of its own, for programs that know nothing of
// it. That takes Linux, /dev/fuse, and root or fusermount3. It is not for code that has a seam of
// its own for files (parts/vfs), and it is not fast.
//
// Supply owns its process, and that process its mount.
package powercut

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// patience bounds the wait for a mount to come or go; either takes milliseconds, but on a busy machine.
const patience = 2 * time.Minute

// Supply is the power supply of a folder that a disk is mounted on.
type Supply struct {
	dir    string
	cmd    *exec.Cmd
	words  io.WriteCloser
	answer *bufio.Reader
	clean  bool
	random *rand.Rand
}

// Options of a Supply. The zero value is the documented default.
type Options struct {
	Seed  uint64 // of what is kept by chance
	Clean bool   // nothing is: each cut leaves what was synced and no more
}

// The variables that make a program the process of a mount; see Main.
const (
	dirVariable  = "POWERCUT_DIR"
	seedVariable = "POWERCUT_SEED"
)

// Main must be the first call of a program, or of TestMain, that calls Plug: Plug starts the
// program once more, and then Main serves the mount and does not return.
func Main() {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		return
	}
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err == nil {
		err = serve(dir, seed, os.Stdin, os.Stdout)
	}
	if err != nil {
		os.Exit(1) // the other end has received the reason
	}
	os.Exit(0)
}

// ErrUnsupported says that there is no FUSE here.
var ErrUnsupported = errors.New("no FUSE here")

// Plug mounts an empty disk on a folder. The mount goes with Close, and when this program ends
// without it.
func Plug(dir string, o Options) (*Supply, error) {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if _, err := exec.LookPath("fusermount3"); err != nil && os.Getuid() != 0 {
		return nil, fmt.Errorf("%w for users other than root: %w; install the package fuse3", ErrUnsupported, err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &Supply{dir: dir, cmd: exec.Command(self), clean: o.Clean, random: rand.New(rand.NewPCG(o.Seed, 1))}
	s.cmd.Env = append(os.Environ(), dirVariable+"="+dir, seedVariable+"="+strconv.FormatUint(o.Seed, 10))
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for us; it ends with its input
	s.cmd.Stderr = os.Stderr
	if s.words, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.answer = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := s.heed(); err != nil {
		s.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return s, nil
}

// heed reads the answer to a word.
func (s *Supply) heed() error {
	line, err := s.answer.ReadString('\n')
	switch {
	case err != nil:
		return fmt.Errorf("the process of the mount on %s has ended: %w", s.dir, err)
	case line != "ok\n":
		return errors.New(line[:len(line)-1])
	}
	return nil
}

func (s *Supply) say(word string) error {
	if _, err := io.WriteString(s.words, word+"\n"); err != nil {
		return fmt.Errorf("the process of the mount on %s has ended: %w", s.dir, err)
	}
	return s.heed()
}

// Cut turns the power off: whatever is done in the folder from here on fails, until Restore.
func (s *Supply) Cut() error { return s.say("cut") }

// Restore turns it on again. All unsynced data is lost or, every other time by chance unless
// Options.Clean is set, some of it is kept. No process may have files open in the folder, nor work
// in it.
func (s *Supply) Restore() error {
	if !s.clean && s.random.IntN(2) == 0 {
		return s.say("restore-some")
	}
	return s.say("restore")
}

// Close takes the mount away with what is on it, and waits for its process.
func (s *Supply) Close() error {
	s.words.Close()
	limit := time.AfterFunc(2*patience, func() { s.cmd.Process.Kill() })
	defer limit.Stop()
	err := s.cmd.Wait()
	if err != nil {
		detach(s.dir) // it may not have come to that
	}
	return err
}
