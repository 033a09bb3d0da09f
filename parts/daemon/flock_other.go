//go:build !unix || solaris || aix

package daemon

import (
	"errors"
	"os"
)

func flock(*os.File) error { return errors.New("this system has no flock(2)") }

func unlock(*os.File) error { return nil }
