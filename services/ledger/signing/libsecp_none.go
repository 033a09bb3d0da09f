//go:build !cgo

package signing

func addLibSecp(map[string]Checker) {}
