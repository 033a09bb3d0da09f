//go:build !cgo

package xrpl

func addLibSecp(map[string]SignatureChecker) {}
