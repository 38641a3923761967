// Holds Kubernetes objects against their published schemas: node validate.mjs FOLDER <objects.json
//
// FOLDER has node_modules/ (package.json beside this file). Reads a JSON array of objects, prints a
// JSON array with the complaints about each. Two ways, since neither is enough:
//   - the schemas' own validators: required fields, formats, patterns, ranges; they let fields pass
//     that they do not know;
//   - the same schemas as TypeScript types: each object is compiled as a literal, in which the
//     compiler allows no field that the type does not have.
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const require = createRequire(join(folder, "package.json"));
const ts = require("typescript");

function modelOf(object) {
    const { apiVersion, kind } = object;
    const name = apiVersion.startsWith("monitoring.coreos.com/")
        ? "@kubernetes-models/prometheus-operator"
        : "kubernetes-models";
    return `${name}/${apiVersion}/${kind}`;
}

function compile(directory, objects) {
    const files = objects.map((object, i) => {
        const file = join(directory, `object${i}.ts`);
        writeFileSync(file, `import type { I${object.kind} } from "${modelOf(object)}";\n` +
            `export const object: I${object.kind} = ${JSON.stringify(object, null, 1)};\n`);
        return file;
    });
    const program = ts.createProgram(files, {
        strict: true, noEmit: true, skipLibCheck: true, types: [],
        target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext,
        moduleResolution: ts.ModuleResolutionKind.Bundler,
    });
    return files.map((file) =>
        ts.getPreEmitDiagnostics(program, program.getSourceFile(file))
            .map((d) => ts.flattenDiagnosticMessageText(d.messageText, " ")));
}

async function validate(directory, i, object) {
    // From a module below FOLDER, so that its packages are found.
    const file = join(directory, `model${i}.mjs`);
    writeFileSync(file, `export { ${object.kind} as model } from "${modelOf(object)}";\n`);
    const { model } = await import(pathToFileURL(file));
    try {
        new model(object).validate();
        return [];
    } catch (error) {
        return [error.message];
    }
}

const objects = JSON.parse(readFileSync(0, "utf8"));
const directory = mkdtempSync(join(folder, "objects-"));
try {
    const compiled = compile(directory, objects);
    const result = [];
    for (const [i, object] of objects.entries())
        result.push([...compiled[i], ...(await validate(directory, i, object))]);
    console.log(JSON.stringify(result));
} finally {
    rmSync(directory, { recursive: true });
}
