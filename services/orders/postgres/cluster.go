package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cluster is the folder in which everything is, and whose it is:
//
//	data/        PostgreSQL's own
//	password     of the role "orders"
//	log, log.1   what PostgreSQL logged, 16 MiB at most each
//	owner.lock   held by the process that started PostgreSQL; has its pid
//	server.lock  held by every process of PostgreSQL
type cluster struct {
	folder   string
	user     *syscall.Credential // nil: this process's own
	password string
}

func (c cluster) data() string          { return filepath.Join(c.folder, "data") }
func (c cluster) passwordFile() string  { return filepath.Join(c.folder, "password") }
func (c cluster) log() string           { return filepath.Join(c.folder, "log") }
func (c cluster) ownerLock() string     { return filepath.Join(c.folder, "owner.lock") }
func (c cluster) serverLock() string    { return filepath.Join(c.folder, "server.lock") }
func (c cluster) postmasterPID() string { return filepath.Join(c.data(), "postmaster.pid") }

// nobody is the uid and gid of the unprivileged user on Linux. It needs no entry in /etc/passwd.
const nobody = 65534

// openCluster makes the folder if it is missing, hands it to the unprivileged user where that is needed, and reads
// or makes the password.
func openCluster(folder string) (cluster, error) {
	if folder == "" {
		return cluster{}, errors.New("no folder was given")
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return cluster{}, err
	}
	c := cluster{folder: folder}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return cluster{}, err
	}
	if os.Geteuid() == 0 {
		if c.user, err = unprivileged(c.data()); err != nil {
			return cluster{}, err
		}
		if err := c.give(folder); err != nil {
			return cluster{}, err
		}
		if err := reachable(folder, c.user); err != nil {
			return cluster{}, err
		}
	}
	c.password, err = c.readPassword()
	return c, err
}

// unprivileged returns whom PostgreSQL runs as when root starts it: whoever owns the data that is there, else nobody.
func unprivileged(data string) (*syscall.Credential, error) {
	id := &syscall.Credential{Uid: nobody, Gid: nobody}
	info, err := os.Stat(data)
	if errors.Is(err, fs.ErrNotExist) {
		return id, nil
	}
	if err != nil {
		return nil, err
	}
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 0 {
		id.Uid, id.Gid = stat.Uid, stat.Gid
	}
	return id, nil
}

// give makes path the unprivileged user's.
func (c cluster) give(path string) error {
	if c.user == nil {
		return nil
	}
	return os.Chown(path, int(c.user.Uid), int(c.user.Gid))
}

// as has cmd run as the cluster's user, in its folder and with little environment: PGPORT and its like must not
// reach PostgreSQL.
func (c cluster) as(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = c.folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = c.user
	return cmd
}

// readPassword returns the role's password, made and kept at the first call.
func (c cluster) readPassword() (string, error) {
	text, err := os.ReadFile(c.passwordFile())
	if err == nil && len(text) > 0 {
		return string(text), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if _, err := os.Stat(c.data()); err == nil {
		return "", fmt.Errorf("%s is missing or empty, and without it nobody can connect; restore it, or set a new one with ALTER ROLE after a start with pg_hba.conf on trust", c.passwordFile())
	}
	password := rand.Text()
	fresh := c.passwordFile() + ".new"
	if err := os.WriteFile(fresh, []byte(password), 0o600); err != nil {
		return "", err
	}
	if err := c.give(fresh); err != nil { // initdb reads it
		return "", err
	}
	return password, os.Rename(fresh, c.passwordFile())
}

// version returns the major version that made the data, "" when there is none yet.
func (c cluster) version() (string, error) {
	text, err := os.ReadFile(filepath.Join(c.data(), "PG_VERSION"))
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if _, there := os.Stat(c.data()); errors.Is(there, fs.ErrNotExist) {
		return "", nil
	}
	return "", fmt.Errorf("%s is not a PostgreSQL cluster: %w; move it away, or choose another folder with --data", c.data(), err)
}

// initTimeout bounds initdb, which takes a second or two on an idle machine.
const initTimeout = 3 * time.Minute

// initialize makes the data folder if there is none. It is made under another name, so that one that was interrupted
// is not mistaken for a whole one.
func (c cluster) initialize(ctx context.Context, b binaries, p progress, synced bool) error {
	if version, err := c.version(); err != nil || version != "" {
		return err
	}
	fresh := c.data() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()
	args := []string{"-D", fresh, "-U", Database, "--pwfile=" + c.passwordFile(), "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"}
	if !synced {
		args = append(args, "--no-sync")
	}
	p.line("making a PostgreSQL %s cluster in %s", b.version, c.data())
	begun := time.Now()
	said, err := c.as(exec.CommandContext(ctx, b.path("initdb"), args...)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, lastLines(said, maxTail))
	}
	p.line("made the cluster in %v", time.Since(begun).Round(100*time.Millisecond))
	return os.Rename(fresh, c.data())
}

func lastLines(text []byte, most int) []byte {
	text = bytes.TrimSpace(text)
	return text[max(0, len(text)-most):]
}
