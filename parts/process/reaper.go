package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// reaperScript keeps a list of process groups and one of folders. When its input ends, which happens
// when the parent ends, for whatever reason, it kills the groups and removes the folders that are
// left. What it kills may write a last file while it removes, so it tries twice.
const reaperScript = `
trap '' HUP INT TERM
groups=
folders=
while IFS= read -r line; do
	g=${line#?}
	case $line in
	+*) groups="$groups $g" ;;
	-*) kept=
		for x in $groups; do [ "$x" = "$g" ] || kept="$kept $x"; done
		groups=$kept ;;
	/*) folders="$folders$line
" ;;
	esac
done
for g in $groups; do kill -s KILL -- "-$g"; done
printf '%s' "$folders" | while IFS= read -r f; do rm -rf -- "$f" || { sleep 1; rm -rf -- "$f"; }; done
`

// reaper is a shell in a session of its own, out of reach of whatever ends the parent. It starts
// with the first process and ends with the parent, which does not wait for it. One reaper
// serves the whole parent.
type reaper struct {
	mu     sync.Mutex
	shell  *exec.Cmd
	pipe   *os.File     // no child inherits it, so it closes when the parent ends
	groups map[int]bool // the groups on the shell's list
	// folders of this process, also those that it has removed: their names are random
	folders []string
}

var theReaper = reaper{groups: map[int]bool{}}

// TempDir makes a new folder for temporary files as os.MkdirTemp does, which no end of this process
// leaves behind: the caller removes it, or the reaper does, after the processes that Start started
// have been killed.
func TempDir(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", err
	}
	full, err := filepath.Abs(dir)
	if err == nil && strings.ContainsAny(full, "\r\n") {
		err = fmt.Errorf("the folder for temporary files, %q, has a line end in its name: set TMPDIR to another", full)
	}
	if err == nil {
		err = theReaper.keep(full)
	}
	if err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	return full, nil
}

// keep adds a folder to those that are removed when the parent has ended.
func (g *reaper) keep(dir string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.folders = append(g.folders, dir)
	if g.pipe != nil && g.write(dir) == nil {
		return nil
	}
	if err := g.start(); err != nil {
		return fmt.Errorf("starting the shell that removes %s if this process is killed: %w", dir, err)
	}
	return nil
}

// watch adds a group to those that are killed if the parent dies.
func (g *reaper) watch(pgid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups[pgid] = true
	if g.pipe != nil && g.send("+", pgid) == nil {
		return nil
	}
	if err := g.start(); err != nil { // the first shell, or the replacement of one that was killed
		delete(g.groups, pgid)
		return fmt.Errorf("starting the shell that stops it if this process is killed: %w", err)
	}
	return nil
}

// forget removes a group that has ended from the list.
func (g *reaper) forget(pgid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.groups, pgid)
	g.send("-", pgid) // a shell that is gone has no list
}

func (g *reaper) send(what string, pgid int) error {
	return g.write(what + strconv.Itoa(pgid))
}

func (g *reaper) write(line string) error {
	_, err := g.pipe.WriteString(line + "\n")
	return err
}

func (g *reaper) start() error {
	if g.shell != nil {
		g.pipe.Close()
		g.shell.Process.Kill()
		g.shell.Wait()
		g.shell, g.pipe = nil, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	shell := exec.Command("/bin/sh", "-c", reaperScript)
	shell.Stdin, shell.Dir, shell.Env = r, "/", []string{"PATH=" + os.Getenv("PATH")} // for rm
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := shell.Start(); err != nil {
		w.Close()
		return err
	}
	g.shell, g.pipe = shell, w
	for pgid := range g.groups {
		if err := g.send("+", pgid); err != nil {
			return err
		}
	}
	for _, dir := range g.folders {
		if err := g.write(dir); err != nil {
			return err
		}
	}
	return nil
}
