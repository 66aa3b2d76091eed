package torus

// Shapes returns the shapes of all tori of three dimensions with n nodes and at least two nodes
// per dimension: all triples of ascending sizes whose product is n, in lexicographic order.
func Shapes(n int) (shapes [][]int) {
	const minSize = 2 // a dimension of one node has no links
	for x := minSize; x*x*x <= n; x++ {
		if n%x != 0 {
			continue
		}
		for y := x; x*y*y <= n; y++ {
			if n/x%y == 0 {
				shapes = append(shapes, []int{x, y, n / x / y})
			}
		}
	}
	return shapes
}
