package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// terminal is a shell in which a reader types commands.
type terminal struct {
	shell *exec.Cmd
	typed *os.File // what bash reads
	out   output
}

type ending struct {
	status int
	dir    string
}

// open opens a terminal in a folder. Close ends it.
func open(dir string, environment []string) (*terminal, error) {
	commands, typed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer commands.Close()
	t := &terminal{typed: typed, out: output{ready: make(chan struct{}, 1), ended: make(chan ending, 1)}}
	t.shell = exec.Command("bash", "--noprofile", "--norc", "/dev/fd/3")
	t.shell.Dir, t.shell.Env = dir, environment
	t.shell.ExtraFiles = []*os.File{commands}
	t.shell.Stdout, t.shell.Stderr = &t.out, &t.out
	t.shell.WaitDelay = 2 * endWithin
	t.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := t.shell.Start(); err != nil {
		return nil, errors.Join(err, typed.Close())
	}
	return t, nil
}

var errServes = errors.New("it serves, and occupies its terminal")

// run types a command and waits until it ended, or, with errServes, until it printed that it is
// ready. A server in the background leaves the terminal free, however soon it is ready.
func (t *terminal) run(ctx context.Context, command string) (ending, error) {
	t.out.reset()
	occupied := t.out.ready
	if strings.HasSuffix(command, "&") {
		occupied = nil
	}
	if _, err := fmt.Fprintf(t.typed, "%s\nprintf '\\036%%s %%s\\036\\n' $? \"$PWD\"\n", command); err != nil {
		return ending{}, err
	}
	select {
	case e := <-t.out.ended:
		return e, nil
	case <-occupied:
		return ending{}, errServes
	case <-ctx.Done():
		return ending{}, errors.New("it did not end")
	}
}

// awaitReady waits until a server in the background is ready, as a reader would.
func (t *terminal) awaitReady(ctx context.Context) {
	select {
	case <-t.out.ready:
	case <-ctx.Done():
	}
}

// close ends the terminal with every process that was started in it.
func (t *terminal) close() {
	group := -t.shell.Process.Pid
	syscall.Kill(group, syscall.SIGTERM) // an error means that all have ended
	time.AfterFunc(endWithin, func() { syscall.Kill(group, syscall.SIGKILL) })
	t.typed.Close()
	t.shell.Wait() // until the processes that write to its output have ended, too
}

// endWithin is the time that servers have to end after SIGTERM, on a busy machine as well: what still runs after
// it may write into the folder of the next page.
const endWithin = 20 * time.Second

// output keeps the end of what commands print, and looks for the line with which a server says
// that it is ready, and for the one that follows each command.
type output struct {
	mu    sync.Mutex
	last  []byte
	seen  int // lines in last that say so
	ready chan struct{}
	ended chan ending
}

const keep = 16 << 10 // bytes

// status is what the shell prints after each command: its status and the folder.
var status = regexp.MustCompile("\x1e([0-9]+) ([^\x1e]*)\x1e\n")

var readyLine = regexp.MustCompile(`"ready":\s*true|(?m)^\{"listen":`)

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = append(o.last, p...)
	if m := status.FindSubmatchIndex(o.last); m != nil {
		code, err := strconv.Atoi(string(o.last[m[2]:m[3]]))
		if err != nil {
			code = -1
		}
		dir := string(o.last[m[4]:m[5]])
		o.last = slices.Delete(o.last, m[0], m[1])
		o.ended <- ending{code, dir} // one command at a time: there is room
	}
	if n := len(readyLine.FindAllIndex(o.last, -1)); n > o.seen {
		select {
		case o.ready <- struct{}{}:
		default:
		}
	}
	o.last = o.last[max(0, len(o.last)-keep):]
	o.seen = len(readyLine.FindAllIndex(o.last, -1))
	return len(p), nil
}

// reset forgets what was printed.
func (o *output) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last, o.seen = nil, 0
	select {
	case <-o.ready:
	default:
	}
}

func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(bytes.TrimSpace(o.last))
}
