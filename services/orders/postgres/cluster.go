package postgres

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// cluster is the folder in which everything is, and whose it is:
//
//	data/        PostgreSQL's own
//	password     of the database's owner
//	log, log.1   what PostgreSQL logged, 16 MiB at most each
//	owner.lock   held by the process that started PostgreSQL; has its pid
//	server.lock  held by every process of PostgreSQL
//	binaries/    downloaded, if there was no better place
type cluster struct {
	folder   string
	user     *syscall.Credential // nil: this process's own
	barred   error               // why that user needs a capability to come to the folder; nil: it needs none
	password string
}

func (c cluster) data() string          { return filepath.Join(c.folder, "data") }
func (c cluster) passwordFile() string  { return filepath.Join(c.folder, "password") }
func (c cluster) log() string           { return filepath.Join(c.folder, "log") }
func (c cluster) ownerLock() string     { return filepath.Join(c.folder, "owner.lock") }
func (c cluster) serverLock() string    { return filepath.Join(c.folder, "server.lock") }
func (c cluster) downloads() string     { return filepath.Join(c.folder, "binaries") }
func (c cluster) postmasterPID() string { return filepath.Join(c.data(), "postmaster.pid") }

// openCluster makes the folder if it is missing and hands it to the unprivileged user where that is
// needed.
func openCluster(folder string) (cluster, error) {
	if folder == "" {
		return cluster{}, errors.New("no folder was given")
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return cluster{}, err
	}
	c := cluster{folder: folder}
	if err := os.MkdirAll(filepath.Dir(folder), 0o711); err != nil { // to be entered by that user, but not listed
		return cluster{}, err
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return cluster{}, err
	}
	if c.user, err = userFor(c.data()); err != nil {
		return cluster{}, err
	}
	if err := c.give(folder); err != nil {
		return cluster{}, err
	}
	if c.barred = reachable(folder, c.user); c.barred != nil && !mayPassFolders() {
		return cluster{}, c.barred
	}
	return c, nil
}

// give makes path the unprivileged user's.
func (c cluster) give(path string) error {
	if c.user == nil {
		return nil
	}
	return os.Chown(path, int(c.user.Uid), int(c.user.Gid))
}

// as has cmd run as the cluster's user, in its folder and with little environment: PGPORT and its
// like must not reach PostgreSQL.
func (c cluster) as(cmd *exec.Cmd) {
	cmd.Dir = c.folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = c.user
	if c.barred != nil {
		passFolders(cmd.SysProcAttr)
		cmd.Dir = "/" // the capability counts from the execution on, and the folder is changed before
	}
}

// readPassword returns the role's password. The first call makes it, or takes over that of the
// cluster to be copied.
func (c cluster) readPassword(role string, copyOf *Server) (string, error) {
	text, err := os.ReadFile(c.passwordFile())
	if err == nil && len(text) > 0 {
		return string(text), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if _, err := os.Stat(c.data()); err == nil {
		return "", fmt.Errorf("%s is missing or empty, and no client can connect without it; restore it, "+
			"or set pg_hba.conf to trust, change the password of role %q with psql, and write it there", c.passwordFile(), role)
	}
	password := rand.Text()
	if copyOf != nil {
		password = copyOf.cluster.password
	}
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
