package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyno/cmd/dyno/usage"
)

// permit decides whether load may be sent to a host other than loopback. The user must have
// permitted the host once with --i-may-load-this-host, which is stored in the user's
// configuration folder.
func (c *common) permit(host string) error {
	dir, err := os.UserConfigDir()
	if err != nil {
		return fmt.Errorf("finding the folder of permitted hosts: %w", err)
	}
	file := filepath.Join(dir, "dyno", "hosts")
	permitted, _ := os.ReadFile(file) // if the file cannot be read, no host was permitted
	switch {
	case slices.Contains(strings.Fields(string(permitted)), host):
		return nil
	case !c.allowHost:
		return usage.Errorf("%s is not this machine, and load can harm its other users; if you may load it, add --i-may-load-this-host once", host)
	}
	return remember(file, host)
}

func remember(file, host string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, host)
	return errors.Join(err, f.Close())
}
