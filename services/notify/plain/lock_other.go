//go:build !unix || solaris || aix

package main

import (
	"errors"
	"os"
)

func flock(*os.File) error { return errors.New("this system has no flock(2)") }
