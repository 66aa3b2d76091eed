//go:build !linux

package packet

func hugePages([]record) {}
