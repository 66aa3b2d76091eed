//go:build !linux

package packet

// adviseHugePages does nothing on systems without this advice.
func adviseHugePages([]record) {}
