package scenarios

import (
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/assembly/plans"
	"sim/scenarios/schema"
)

// matrixAlias lets every fabric take a matrix of bytes in both forms: as kind = "matrix" with matrix or matrix_file,
// and as an all-to-all whose sizes are a file or "matrix". It turns either into that whose other keys the fabric has:
// on scale-up domains the all-to-all, elsewhere the matrix. Diagnostics name what the file writes.
func (c *checker) matrixAlias() {
	const kindAt, sizesAt, fileAt = "workload.kind", "workload.sizes", "workload.matrix_file"
	w := schema.Child(c.Root, "workload")
	planned := plannedIn(c.Root)
	switch {
	case w["kind"] == paths.Matrix.Name && planned:
		if _, given := w["sizes"]; given {
			return // it is not used
		}
		file, given := w["matrix_file"]
		if !given {
			file = plans.ListedSizes
		}
		delete(w, "matrix_file")
		w["kind"], w["sizes"] = paths.AllToAll.Name, file
		c.alias = map[string]string{sizesAt: fileAt}
		if !given {
			c.alias[sizesAt] = kindAt
		}
	case w["kind"] == paths.AllToAll.Name && !planned:
		sizes, ok := w["sizes"].(string)
		unknown := !strings.ContainsAny(sizes, "./") && text.Nearest(sizes, sizeNames) != ""
		if _, given := w["matrix_file"]; !ok || given || sizes != plans.ListedSizes && (unknown || slices.Contains(sizeNames, sizes)) {
			return
		}
		delete(w, "sizes")
		c.alias = map[string]string{kindAt: sizesAt}
		if w["kind"] = paths.Matrix.Name; sizes != plans.ListedSizes {
			w["matrix_file"] = sizes
			c.alias[fileAt] = sizesAt
		}
	}
}
