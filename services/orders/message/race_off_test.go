//go:build !race

package message

const poolsKeep = true
