package process

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// reaperScript keeps a list of process groups and kills those that are left when its input ends,
// which happens when the parent ends, for whatever reason.
const reaperScript = `
trap '' HUP INT TERM
groups=
while read -r line; do
	g=${line#?}
	case $line in
	+*) groups="$groups $g" ;;
	-*) kept=
		for x in $groups; do [ "$x" = "$g" ] || kept="$kept $x"; done
		groups=$kept ;;
	esac
done
for g in $groups; do kill -s KILL -- "-$g"; done
`

// reaper is a shell in a session of its own, out of reach of whatever ends the parent. It starts
// with the first process and ends with the parent, which does not wait for it. One reaper
// serves the whole parent.
type reaper struct {
	mu     sync.Mutex
	shell  *exec.Cmd
	pipe   *os.File     // no child inherits it, so it closes when the parent ends
	groups map[int]bool // the groups on the shell's list
}

var theReaper = reaper{groups: map[int]bool{}}

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
	_, err := g.pipe.WriteString(what + strconv.Itoa(pgid) + "\n")
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
	shell.Stdin, shell.Dir, shell.Env = r, "/", []string{}
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
	return nil
}
