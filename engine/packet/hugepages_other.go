//go:build !linux

package packet

func adviseHugePages([]record) {}
