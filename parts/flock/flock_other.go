//go:build !unix || solaris || aix

package flock

import (
	"errors"
	"os"
)

// Lock fails.
func Lock(*os.File) error { return errors.New("this system has no flock(2)") }

// Unlock does nothing.
func Unlock(*os.File) error { return nil }
