/* SPDX-License-Identifier: Apache-2.0 */
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the methods of a class file call, and at which bytecode index (JVMS 4.1 to 4.7, 6.5). */
final class ClassCalls {
    static final int INVOKEVIRTUAL = 182, INVOKEINTERFACE = 185, INVOKEDYNAMIC = 186;
    private static final int TABLESWITCH = 170, LOOKUPSWITCH = 171, WIDE = 196, IINC = 132;

    /** An instruction's bytes with its operands, by opcode, 0 to 201; '0': one of no fixed length. */
    private static final String LENGTHS =
        "11111111111111112323322222111111111111111111111111"
        + "11112222211111111111111111111111111111111111111111"
        + "11111111111111111111111111111111311111111111111111"
        + "11133333333333333332001111113333333553231133110433"
        + "55";

    /** An instruction: its opcode and, where it invokes something, what. */
    record Instruction(int opcode, String owner, String name, String descriptor) {
        boolean invokes() {
            return opcode >= INVOKEVIRTUAL && opcode <= INVOKEDYNAMIC;
        }
    }

    /** Its instructions by bytecode index: none, if it has no code. */
    record Method(String descriptor, Map<Integer, Instruction> code) {
    }

    private final Object[] pool;
    private final byte[] bytes;
    private final Map<String, List<Method>> methods = new HashMap<>(); // by name

    ClassCalls(byte[] bytes) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));

        this.bytes = bytes;
        in.readInt();
        in.readInt();
        pool = new Object[in.readUnsignedShort()];
        poolRead(in);
        in.skipNBytes(6);
        in.skipNBytes(2L * in.readUnsignedShort());
        membersRead(in, false);
        membersRead(in, true);
    }

    List<Method> methods(String name) {
        return methods.getOrDefault(name, List.of());
    }

    /** Strings as they are, references as the indices of what they refer to. */
    private void poolRead(DataInputStream in) throws IOException {
        for (int i = 1; i < pool.length; i++) {
            int tag = in.readUnsignedByte();

            switch (tag) {
            case 1 -> pool[i] = in.readUTF();
            case 3, 4 -> in.skipNBytes(4);
            case 5, 6 -> {
                in.skipNBytes(8);
                i++;
            }
            case 7, 8, 16, 19, 20 -> pool[i] = new int[] {in.readUnsignedShort()};
            case 9, 10, 11, 12, 17, 18 ->
                pool[i] = new int[] {in.readUnsignedShort(), in.readUnsignedShort()};
            case 15 -> in.skipNBytes(3);
            default -> throw new IOException("constant of kind " + tag);
            }
        }
    }

    private void membersRead(DataInputStream in, boolean methodsToo) throws IOException {
        for (int n = in.readUnsignedShort(); n > 0; n--) {
            in.readUnsignedShort();
            String name = text(in.readUnsignedShort()), descriptor = text(in.readUnsignedShort());
            Map<Integer, Instruction> code = Map.of();

            for (int k = in.readUnsignedShort(); k > 0; k--) {
                String attribute = text(in.readUnsignedShort());
                int length = in.readInt(), at = bytes.length - in.available();

                if (attribute.equals("Code"))
                    code = instructions(at + 8, number(at + 4, 4));
                in.skipNBytes(length);
            }
            if (methodsToo)
                methods.computeIfAbsent(name, k -> new ArrayList<>()).add(new Method(descriptor, code));
        }
    }

    private Map<Integer, Instruction> instructions(int from, int length) throws IOException {
        Map<Integer, Instruction> all = new HashMap<>();

        for (int bci = 0; bci < length;) {
            int at = from + bci, opcode = number(at, 1);

            all.put(bci, opcode >= INVOKEVIRTUAL && opcode <= INVOKEDYNAMIC
                ? invocation(opcode, number(at + 1, 2)) : new Instruction(opcode, null, null, null));
            bci += size(opcode, at, bci);
        }
        return all;
    }

    private int size(int opcode, int at, int bci) throws IOException {
        int operands = at + 4 - bci % 4;

        if (opcode == TABLESWITCH)
            return operands - at + 12 + 4 * (number(operands + 8, 4) - number(operands + 4, 4) + 1);
        if (opcode == LOOKUPSWITCH)
            return operands - at + 8 + 8 * number(operands + 4, 4);
        if (opcode == WIDE)
            return number(at + 1, 1) == IINC ? 6 : 4;
        if (opcode >= LENGTHS.length())
            throw new IOException("opcode " + opcode);
        return LENGTHS.charAt(opcode) - '0';
    }

    private Instruction invocation(int opcode, int index) {
        int[] reference = (int[]) pool[index], type = (int[]) pool[reference[1]];
        String owner = opcode == INVOKEDYNAMIC ? "" : text(((int[]) pool[reference[0]])[0]);

        return new Instruction(opcode, owner.replace('/', '.'), text(type[0]), text(type[1]));
    }

    private String text(int index) {
        return (String) pool[index];
    }

    /** Of so many bytes, the most significant first. */
    private int number(int at, int size) {
        int v = 0;

        for (int i = 0; i < size; i++)
            v = v << 8 | bytes[at + i] & 0xff;
        return v;
    }
}
