// The whole fault matrix, and every column of the schema.
import { allColumns, faultMatrix, testFaults, testMissingColumns } from './support/fault-matrix.ts'

testFaults(faultMatrix)
testMissingColumns(allColumns)
