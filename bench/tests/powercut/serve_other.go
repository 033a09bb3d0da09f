//go:build !linux

package powercut

import "io"

func serve(string, uint64, io.Reader, io.Writer) error { return ErrUnsupported }

func detach(string) error { return nil }
