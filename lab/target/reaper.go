package target

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// guardianScript keeps a list of process groups and kills those that are left when its input ends,
// which it does when the lab does, however that came about.
const guardianScript = `
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

// guardian is a shell in a session of its own, out of reach of whatever ends the lab. It starts with the
// first process and ends with the lab, so nobody waits for it. One serves the whole lab: it stands for
// the lab's own life.
type guardian struct {
	mu     sync.Mutex
	shell  *exec.Cmd
	pipe   *os.File     // no child inherits it: the lab's end is its end
	groups map[int]bool // what the shell was told
}

var theGuardian = guardian{groups: map[int]bool{}}

// watch has the group killed should the lab die.
func (g *guardian) watch(pgid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups[pgid] = true
	if g.pipe != nil && g.tell("+", pgid) == nil {
		return nil
	}
	if err := g.start(); err != nil { // the first, or one in place of a shell that somebody killed
		delete(g.groups, pgid)
		return fmt.Errorf("starting the guardian that would stop it should dyno be killed: %w", err)
	}
	return nil
}

// forget takes a group that is gone off the list.
func (g *guardian) forget(pgid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.groups, pgid)
	g.tell("-", pgid) // a shell that is gone has no list
}

func (g *guardian) tell(what string, pgid int) error {
	_, err := g.pipe.WriteString(what + strconv.Itoa(pgid) + "\n")
	return err
}

func (g *guardian) start() error {
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
	shell := exec.Command("/bin/sh", "-c", guardianScript)
	shell.Stdin, shell.Dir, shell.Env = r, "/", []string{}
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := shell.Start(); err != nil {
		w.Close()
		return err
	}
	g.shell, g.pipe = shell, w
	for pgid := range g.groups {
		if err := g.tell("+", pgid); err != nil {
			return err
		}
	}
	return nil
}
